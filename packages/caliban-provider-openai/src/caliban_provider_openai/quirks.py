"""How the servers that speak Chat Completions differ: a table, so that no code asks for a name.

Each row says what its host's reference says. A server without a row is asked as little as possible.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import fields, replace

from caliban_provider.errors import InvalidRequest

Kind: TypeAlias = Literal["openai", "azure", "compatible"]
"""The vendor itself, the vendor's models on Azure, or a server that speaks alike."""

Structured: TypeAlias = Literal["json_schema", "json_object_schema", "json_object", "none"]
"""How far a server can hold a reply to a schema: `json_object_schema` is a schema beside the older word."""


class Quirks(Struct, frozen=True, kw_only=True):
    """What one server takes.

    `max_tokens_field` and `system_role` are the wire's words. A tool call's id has at most `id_chars`
    characters of letters, digits, `_` and `-`, and of `id_extra`; with `id_exact` it is exactly `id_chars`
    letters and digits. `reasoning_field` is where a message's reasoning goes back, empty where it does not.
    `any_word` is the `tool_choice` that forces some call. `effort` says that `reasoning_effort` does no harm.
    With `assistant_after_tool` a user's message never follows a tool's result directly. The content
    of a message of calls alone is an empty text without `null_content`. With `silent_overflow` a refusal
    without a word means that the prompt is too long. What an operator has `said` no family of models changes.
    """

    max_tokens_field: str = "max_tokens"
    system_role: str = "system"
    id_chars: int = 40
    id_extra: str = ""
    id_exact: bool = False
    stream_options: bool = True
    parallel_tool_calls: bool = True
    structured: Structured = "json_schema"
    reasoning_field: str = ""
    effort: bool = False
    files: bool = False
    cache_key: bool = False
    any_word: str = "required"
    assistant_after_tool: bool = False
    null_content: bool = True
    silent_overflow: bool = False
    said: frozenset[str] = frozenset()


_COMPATIBLE = Quirks()
_OPENAI = Quirks(
    max_tokens_field="max_completion_tokens", system_role="developer", effort=True, files=True, cache_key=True
)

_BY_HOST: tuple[tuple[str, Quirks], ...] = (
    (
        "mistral.ai",
        replace(_COMPATIBLE, id_chars=9, id_exact=True, stream_options=False, any_word="any"),
    ),
    ("deepseek.com", replace(_COMPATIBLE, reasoning_field="reasoning_content", structured="json_object")),
    ("moonshot.ai", replace(_COMPATIBLE, reasoning_field="reasoning_content", id_chars=64, id_extra=".:")),
    ("moonshot.cn", replace(_COMPATIBLE, reasoning_field="reasoning_content", id_chars=64, id_extra=".:")),
    ("openrouter.ai", replace(_COMPATIBLE, reasoning_field="reasoning", effort=True, files=True)),
    ("z.ai", replace(_COMPATIBLE, stream_options=False, structured="json_object", any_word="auto")),
    ("bigmodel.cn", replace(_COMPATIBLE, stream_options=False, structured="json_object", any_word="auto")),
    (
        "minimax.io",
        replace(_COMPATIBLE, max_tokens_field="max_completion_tokens", structured="none", any_word="auto"),
    ),
    ("groq.com", replace(_COMPATIBLE, max_tokens_field="max_completion_tokens")),
    (
        "cerebras.ai",
        replace(_COMPATIBLE, max_tokens_field="max_completion_tokens", silent_overflow=True),
    ),
)
"""The end of a host, and what it takes."""


def quirks_of(host: str, kind: Kind, changes: str = "") -> Quirks:
    """The row of a server; `changes` are an operator's: `stream_options=false, id_chars=64`.

    With `like=HOST` among them the server is taken for that one, which it stands before. Raises
    `InvalidRequest` for a change that is none.
    """
    changed = _changes(changes)
    host = changed.pop("like", host)
    if kind == "compatible":
        row_for_host = next(
            (row for end, row in _BY_HOST if host == end or host.endswith(f".{end}")), _COMPATIBLE
        )
    else:
        row_for_host = _OPENAI
    return replace(row_for_host, **changed, said=frozenset(changed)) if changed else row_for_host


_BY_FAMILY: tuple[tuple[re.Pattern[str], Mapping[str, Any]], ...] = (
    (
        re.compile(r"(?:mi[sx]tral|ministral|codestral|devstral|magistral|pixtral)"),
        MappingProxyType({"assistant_after_tool": True}),
    ),
)
"""What models of a family want wherever they are served: their template holds it, and not a host."""


def for_model(quirks: Quirks, model: str) -> Quirks:
    """`quirks` with what the family of `model` wants."""
    name = model.lower()
    for family, changes in _BY_FAMILY:
        if family.search(name):
            return replace(quirks, **{quirk: changes[quirk] for quirk in changes.keys() - quirks.said})
    return quirks


def _changes(text: str) -> dict[str, Any]:
    kinds: dict[str, object] = {field.name: field.default for field in fields(Quirks)}
    kinds = {**kinds, "like": ""}
    del kinds["said"]
    out: dict[str, Any] = {}
    for part in re.split(r"[,\s]+", text.strip()):
        name, _, value = part.partition("=")
        default, words = kinds.get(name), _WORDS.get(name)
        if words is not None and value not in words:
            raise InvalidRequest(
                f"the quirk {name} cannot be {value[:60]!r}", hint=f"it is one of {', '.join(words)}"
            )
        if isinstance(default, bool) and value in ("true", "false"):
            out[name] = value == "true"
        elif isinstance(default, int) and not isinstance(default, bool) and value.isdecimal():
            out[name] = max(1, int(value))
        elif isinstance(default, str):
            out[name] = value
        elif part:
            raise InvalidRequest(
                f"the quirk {part[:60]!r} is not known",
                hint=f"known are: {', '.join(kinds)}; write NAME=VALUE, with true or false for a switch",
            )
    return out


_WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "structured": get_args(Structured),
        "system_role": ("system", "developer", "user"),
        "any_word": ("required", "any", "auto"),
    }
)
"""The quirks that are one of few words."""
