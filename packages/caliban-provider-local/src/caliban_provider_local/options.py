"""What an operator can say to the local provider, read once from `ProviderOptions.extra`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, cast

from msgspec import Struct

from caliban_provider.errors import InvalidRequest

ToolsOption: TypeAlias = Literal["auto", "on", "off"]

OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "threads": "threads that compute (half of the processors, at most 4)",
        "context_tokens": "the window, never above what the model was trained for",
        "seed": "makes replies repeatable",
        "tools": "whether tools are on offer: auto, on or off",
        "chat_template_file": "a Jinja file instead of the template in the weights",
    }
)
"""What `ProviderOptions.extra` may hold."""

_MAX_THREADS = 256


class LocalOptions(Struct, frozen=True, kw_only=True):
    """How a model is loaded and asked.

    `threads` ≥ 1 compute. `context_tokens` is the wanted window, `None` for the model's usual one; it is
    never more than the model was trained for. `seed` makes replies repeatable. `tools` overrides the
    judgement whether the model is large enough to be offered tools. `chat_template_file` names a Jinja file
    that replaces the template inside the weights.
    """

    threads: int
    context_tokens: int | None = None
    seed: int | None = None
    tools: ToolsOption = "auto"
    chat_template_file: str | None = None


def read_options(extra: Mapping[str, str]) -> LocalOptions:
    """`extra` as options; raises `InvalidRequest` for a key nobody reads or a value that makes no sense."""
    unknown = sorted(set(extra) - set(OPTIONS))
    if unknown:
        raise InvalidRequest(
            f"the local provider has no option {unknown[0]!r}", hint=f"it knows {', '.join(OPTIONS)}"
        )
    tools = extra.get("tools", "auto")
    if tools not in ("auto", "on", "off"):
        raise InvalidRequest(f"option 'tools' of the local provider is auto, on or off, not {tools!r}")
    return LocalOptions(
        threads=_whole(extra, "threads", 1, _MAX_THREADS) or default_threads(),
        context_tokens=_whole(extra, "context_tokens", 256, 1 << 24),
        seed=_whole(extra, "seed", 0, (1 << 32) - 2),
        tools=cast("ToolsOption", tools),
        chat_template_file=extra.get("chat_template_file"),
    )


def default_threads() -> int:
    """Half of the processors this process may use, at most 4 and at least 1.

    The runtime's threads wait for each other by spinning after every layer: one that has to share its
    processor slows all down by a factor of ten, so half of them are left to the rest of the machine.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    available = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, min(4, available // 2))


def _whole(extra: Mapping[str, str], key: str, low: int, high: int) -> int | None:
    text = extra.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and low <= int(text) <= high):
        raise InvalidRequest(
            f"option {key!r} of the local provider is a whole number from {low} to {high}, not {text!r}"
        )
    return int(text)
