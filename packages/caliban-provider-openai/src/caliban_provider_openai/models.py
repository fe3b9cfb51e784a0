"""What is known of OpenAI's models: data with a date, and how a name finds its row.

Windows, output limits and effort levels: the vendor's model pages and its reasoning guide; which models take
no tools beside reasoning on Chat Completions: its migration guide to Responses.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from caliban_provider.capabilities import Capabilities
from caliban_provider.request import EFFORTS

FAMILY = "openai"
"""Whose encrypted reasoning this wire carries."""

AS_OF = "2026-11-27"
"""The day on which the table was true."""

Level: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""A reasoning effort of the wire."""


class ModelFacts(Struct, frozen=True, kw_only=True):
    """One row: what the models whose name begins with `prefix` accept.

    `reasons` says that the model thinks before it answers; it then takes no temperature unless `sampling`.
    `efforts` are in rising order. `chat_tools` false means that Chat Completions refuses tools unless the
    effort is `none`. `input_tokens` is the most that a prompt may have, less than the window.
    """

    prefix: str
    display_name: str = ""
    context_tokens: int | None = 1_050_000
    input_tokens: int | None = None
    max_output_tokens: int | None = 128_000
    reasons: bool = True
    sampling: bool = False
    efforts: tuple[Level, ...] = ("none", "low", "medium", "high", "xhigh")
    chat_tools: bool = True
    vision: bool | None = True
    documents: bool | None = True
    structured_output: bool = True


_NEW = ModelFacts(prefix="", input_tokens=922_000, chat_tools=False)
_ALWAYS = replace(_NEW, efforts=("low", "medium", "high", "xhigh"))
_SMALL = replace(_NEW, context_tokens=400_000, input_tokens=272_000)
_GEN_5 = ModelFacts(prefix="", context_tokens=400_000, input_tokens=272_000)
_O_SERIES = replace(
    _GEN_5,
    context_tokens=200_000,
    input_tokens=None,
    max_output_tokens=100_000,
    efforts=("low", "medium", "high"),
)
_PLAIN = ModelFacts(
    prefix="",
    context_tokens=128_000,
    max_output_tokens=16_384,
    reasons=False,
    sampling=True,
    efforts=(),
)

_CHAT = replace(_PLAIN, sampling=False)
_CODEX = replace(_GEN_5, efforts=("low", "medium", "high"))
_PRO: tuple[Level, ...] = ("medium", "high", "xhigh")

IMAGE_BYTES = 15_000_000
"""The vendor bounds what all images of a request have together, at 50 MB as base64."""
DOCUMENT_BYTES = 24_000_000
"""Encoded as base64 this is the 32 MB that the vendor's guide to files names for a request."""

_UNKNOWN_GPT = replace(
    _NEW,
    prefix="gpt-",
    context_tokens=None,
    input_tokens=None,
    max_output_tokens=None,
    efforts=("low", "medium", "high"),
)
_UNKNOWN = replace(_PLAIN, context_tokens=None, max_output_tokens=None, vision=None, documents=None)

TABLE: tuple[ModelFacts, ...] = (
    replace(_ALWAYS, prefix="gpt-6.2-astra", display_name="GPT-6.2 Astra"),
    replace(_ALWAYS, prefix="gpt-6.2-sol", display_name="GPT-6.2 Sol"),
    replace(_ALWAYS, prefix="gpt-6.1-sol", display_name="GPT-6.1 Sol"),
    replace(_NEW, prefix="gpt-6.1-terra", display_name="GPT-6.1 Terra"),
    replace(_ALWAYS, prefix="gpt-6-astra", display_name="GPT-6 Astra"),
    replace(_NEW, prefix="gpt-6-sol", display_name="GPT-6 Sol"),
    replace(_NEW, prefix="gpt-6-luna", display_name="GPT-6 Luna"),
    replace(_NEW, prefix="gpt-5.6", display_name="GPT-5.6"),
    replace(_NEW, prefix="gpt-5.6-sol", display_name="GPT-5.6 Sol"),
    replace(_NEW, prefix="gpt-5.6-terra", display_name="GPT-5.6 Terra"),
    replace(_NEW, prefix="gpt-5.6-luna", display_name="GPT-5.6 Luna"),
    replace(_NEW, prefix="gpt-5.5", display_name="GPT-5.5", context_tokens=1_000_000),
    replace(_NEW, prefix="gpt-5.5-pro", display_name="GPT-5.5 Pro", context_tokens=1_000_000, efforts=_PRO),
    replace(_NEW, prefix="gpt-5.4", display_name="GPT-5.4"),
    replace(_NEW, prefix="gpt-5.4-pro", display_name="GPT-5.4 Pro", efforts=_PRO),
    replace(_SMALL, prefix="gpt-5.4-mini", display_name="GPT-5.4 mini"),
    replace(_SMALL, prefix="gpt-5.4-nano", display_name="GPT-5.4 nano"),
    replace(
        _GEN_5,
        prefix="gpt-5.3-codex",
        display_name="GPT-5.3 Codex",
        efforts=("low", "medium", "high", "xhigh"),
    ),
    replace(_CHAT, prefix="gpt-5.3-chat", display_name="GPT-5.3 Chat"),
    replace(_GEN_5, prefix="gpt-5.2", display_name="GPT-5.2"),
    replace(_GEN_5, prefix="gpt-5.2-pro", display_name="GPT-5.2 Pro", efforts=_PRO),
    replace(_CHAT, prefix="gpt-5.2-chat", display_name="GPT-5.2 Chat"),
    replace(_GEN_5, prefix="gpt-5.1", display_name="GPT-5.1", efforts=("none", "low", "medium", "high")),
    replace(_CODEX, prefix="gpt-5.1-codex", display_name="GPT-5.1 Codex"),
    replace(_CHAT, prefix="gpt-5.1-chat", display_name="GPT-5.1 Chat"),
    replace(_CODEX, prefix="gpt-5-codex", display_name="GPT-5 Codex"),
    replace(_GEN_5, prefix="gpt-5-pro", display_name="GPT-5 Pro", efforts=("high",)),
    replace(_CHAT, prefix="gpt-5-chat", display_name="GPT-5 Chat"),
    replace(_GEN_5, prefix="gpt-5", display_name="GPT-5", efforts=("minimal", "low", "medium", "high")),
    replace(_O_SERIES, prefix="o4-mini", display_name="o4-mini"),
    replace(_O_SERIES, prefix="o3", display_name="o3"),
    replace(_O_SERIES, prefix="o1", display_name="o1"),
    replace(
        _PLAIN,
        prefix="gpt-4.1",
        display_name="GPT-4.1",
        context_tokens=1_000_000,
        max_output_tokens=32_768,
    ),
    replace(_PLAIN, prefix="gpt-4o", display_name="GPT-4o"),
    replace(
        _PLAIN,
        prefix="gpt-4-turbo",
        display_name="GPT-4 Turbo",
        max_output_tokens=4096,
        structured_output=False,
        documents=False,
    ),
    replace(
        _PLAIN,
        prefix="gpt-4",
        display_name="GPT-4",
        context_tokens=8192,
        max_output_tokens=4096,
        structured_output=False,
        vision=False,
        documents=False,
    ),
    replace(
        _PLAIN,
        prefix="gpt-3.5",
        display_name="GPT-3.5",
        context_tokens=16_385,
        max_output_tokens=4096,
        structured_output=False,
        vision=False,
        documents=False,
    ),
    replace(
        _O_SERIES,
        prefix="gpt-oss",
        display_name="gpt-oss",
        context_tokens=131_072,
        max_output_tokens=None,
        sampling=True,
        vision=False,
        documents=False,
    ),
)
"""One row per line of models; the longest prefix that fits wins, where no further number follows it."""

_ANOTHER = re.compile(r"\.?\d")
"""What follows a prefix in the name of another line: `gpt-5` is not `gpt-5.7`."""

_BY_LENGTH = tuple(sorted(TABLE, key=lambda row: len(row.prefix), reverse=True))


def facts(model: str) -> ModelFacts:
    """The row of `model`, a route before a slash left out.

    A GPT without a row is taken for a new model, anything else for a simple one of somebody else.
    """
    name = model.strip().lower().rsplit("/", 1)[-1]
    for row in _BY_LENGTH:
        if name.startswith(row.prefix) and not _ANOTHER.match(name, len(row.prefix)):
            return row
    return _UNKNOWN_GPT if name.startswith(_UNKNOWN_GPT.prefix) else _UNKNOWN


_FAMILIES: tuple[tuple[re.Pattern[str], ModelFacts], ...] = (
    (re.compile(r"claude-"), replace(_UNKNOWN, context_tokens=200_000, reasons=True, vision=True)),
    (re.compile(r"gemini-"), replace(_UNKNOWN, context_tokens=1_000_000, reasons=True, vision=True)),
    (re.compile(r"qwen.*vl|pixtral|llama-?4|glm-[\d.]+v\b"), replace(_UNKNOWN, vision=True)),
    (re.compile(r"deepseek-|glm-|kimi-|magistral|qwen-?3|qwq"), replace(_UNKNOWN, reasons=True)),
)
"""What families of other vendors can do at least, wherever they are served."""


def _family(name: str) -> ModelFacts:
    return next((row for pattern, row in _FAMILIES if pattern.search(name)), _UNKNOWN)


def capabilities(model: str) -> Capabilities:
    """What `model` can do, from its row, or what is known of its family."""
    row = facts(model)
    if row is _UNKNOWN:
        row = _family(model.lower())
    return Capabilities(
        context_tokens=row.context_tokens,
        input_tokens=row.input_tokens,
        max_output_tokens=row.max_output_tokens,
        vision=row.vision,
        documents=row.documents,
        image_bytes=IMAGE_BYTES,
        stills_only=True,
        document_bytes=DOCUMENT_BYTES,
        thinking=row.reasons,
        efforts=tuple(level for level in EFFORTS if level in row.efforts),
        prompt_cache=True,
        structured_output=row.structured_output,
    )
