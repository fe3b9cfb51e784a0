"""What is known of Gemini models: data with a date, and how a name finds its row.

Windows and output limits: the vendor's models pages; reasoning: its thinking page; sampling and signatures:
its migration guides.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.history import is_same_model
from caliban_provider.capabilities import Capabilities, Retirement
from caliban_provider.request import EFFORTS

FAMILY = "google"
"""Whose thought signatures this wire carries."""

AS_OF = "2026-11-27"
"""The day on which the table was true."""

Level: TypeAlias = Literal["MINIMAL", "LOW", "MEDIUM", "HIGH"]
"""How deep a model of the third generation and later reasons."""


class ModelFacts(Struct, frozen=True, kw_only=True):
    """One row: what the models whose name begins with `prefix` accept.

    Reasoning is asked for by a `budget` (smallest and greatest number of tokens, with `budget_off` where 0
    switches it off) or by one of `levels`, in rising order; with neither there is none. `signs` says that a
    call must come back with its thought signature. `schema_with_tools` says that a reply can be held to a
    schema while tools are on offer, `search_with_tools` that it searches the web while other tools are.
    """

    prefix: str
    display_name: str
    context_tokens: int | None = 1_000_000
    max_output_tokens: int | None = 65_536
    budget: tuple[int, int] | None = None
    budget_off: bool = False
    levels: tuple[Level, ...] = ()
    signs: bool = False
    sampling: bool = True
    schema_with_tools: bool = False
    search_with_tools: bool = False
    retirement: Retirement | None = None


_GEN_2_5 = ModelFacts(
    prefix="", display_name="", context_tokens=1_048_576, budget=(512, 24_576), budget_off=True
)
_GEN_3 = ModelFacts(
    prefix="",
    display_name="",
    levels=("MINIMAL", "LOW", "MEDIUM", "HIGH"),
    signs=True,
    schema_with_tools=True,
    search_with_tools=True,
)
_GEN_3_6 = replace(_GEN_3, sampling=False)
_GEN_4 = replace(_GEN_3_6, context_tokens=1_048_576, levels=("LOW", "MEDIUM", "HIGH"))
_PRO_3 = replace(_GEN_3, context_tokens=1_048_576, levels=("LOW", "HIGH"))

_UNKNOWN_GEMINI = replace(_GEN_4, prefix="gemini-", context_tokens=1_000_000)
_UNKNOWN = ModelFacts(prefix="", display_name="", context_tokens=None, max_output_tokens=None)

TABLE: tuple[ModelFacts, ...] = (
    replace(_GEN_4, prefix="gemini-4-argon", display_name="Gemini 4 Argon"),
    replace(_GEN_3_6, prefix="gemini-3.8-flash", display_name="Gemini 3.8 Flash"),
    replace(_GEN_3_6, prefix="gemini-3.7-flash", display_name="Gemini 3.7 Flash"),
    replace(_GEN_3_6, prefix="gemini-3.6-flash", display_name="Gemini 3.6 Flash"),
    replace(
        _GEN_3,
        prefix="gemini-3.5-flash",
        display_name="Gemini 3.5 Flash",
        retirement=Retirement(on="2026-10-08", as_of=AS_OF),
    ),
    replace(_GEN_3, prefix="gemini-3.5-flash-lite", display_name="Gemini 3.5 Flash-Lite"),
    replace(_PRO_3, prefix="gemini-3.1-pro", display_name="Gemini 3.1 Pro", levels=("LOW", "MEDIUM", "HIGH")),
    replace(_GEN_3, prefix="gemini-3.1-flash-lite", display_name="Gemini 3.1 Flash-Lite"),
    replace(_GEN_3, prefix="gemini-3-flash", display_name="Gemini 3 Flash"),
    replace(_PRO_3, prefix="gemini-3-pro", display_name="Gemini 3 Pro"),
    replace(
        _GEN_2_5,
        prefix="gemini-2.5-pro",
        display_name="Gemini 2.5 Pro",
        budget=(128, 32_768),
        budget_off=False,
    ),
    replace(_GEN_2_5, prefix="gemini-2.5-flash", display_name="Gemini 2.5 Flash"),
    replace(_GEN_2_5, prefix="gemini-2.5-flash-lite", display_name="Gemini 2.5 Flash-Lite"),
    ModelFacts(
        prefix="gemini-2.0",
        display_name="Gemini 2.0",
        max_output_tokens=8192,
        retirement=Retirement(on="2026-06-01", successor="gemini-3.8-flash", as_of=AS_OF),
    ),
)
"""One row per line of models; the longest prefix that fits wins."""

_BY_LENGTH = tuple(sorted(TABLE, key=lambda row: len(row.prefix), reverse=True))


def facts(model: str) -> ModelFacts:
    """The row of `model`; a Gemini without one is taken for a new model, anything else for a simple one."""
    name = bare_name(model).lower()
    for row in _BY_LENGTH:
        if name.startswith(row.prefix):
            return row
    return _UNKNOWN_GEMINI if name.startswith(_UNKNOWN_GEMINI.prefix) else _UNKNOWN


def bare_name(model: str) -> str:
    """`model` without the path that lists and clouds write before it: `models/gemini-x` is `gemini-x`."""
    return model.strip().rsplit("/", 1)[-1]


def answers_as(asked: str, answered: str) -> str:
    """The name that a history gives to who answered: the one asked for where both mean one model.

    An alias such as `gemini-flash-latest` stands for whatever is behind it, so that what is signed goes back.
    """
    if not answered or (asked and (asked.endswith("-latest") or is_same_model(asked, answered))):
        return asked
    return answered


INLINE_BYTES = 14_000_000
"""Encoded as base64 this is below the 20 MB that the vendor takes of a request with data in it."""


def capabilities(model: str) -> Capabilities:
    """What `model` can do, from its row."""
    row = facts(model)
    return Capabilities(
        context_tokens=row.context_tokens,
        max_output_tokens=row.max_output_tokens,
        vision=True,
        documents=True,
        image_types=("image/png", "image/jpeg", "image/webp"),
        image_bytes=INLINE_BYTES,
        document_bytes=INLINE_BYTES,
        document_pages=1000,
        thinking=bool(row.budget or row.levels),
        efforts=tuple(level for level in EFFORTS if level.upper() in row.levels) if row.levels else None,
        prompt_cache=True,
        structured_output=True,
        retirement=row.retirement,
    )
