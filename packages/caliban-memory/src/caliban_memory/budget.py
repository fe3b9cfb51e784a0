"""Keeps memory within its budget: what is cut, in which order, and how the model is told.

Guide: notes give way first, then the project (of its files the broadest first, for the narrower ones are
more to the point), then the user's file; the administrator's is the last.
"""

from __future__ import annotations

from msgspec.structs import replace

from caliban_common.estimate import CHARS_PER_TOKEN
from caliban_memory.values import MemoryCaps, MemoryFile, Tier

_ORDER: tuple[tuple[Tier, ...], ...] = (("auto",), ("project", "rule"), ("global",), ("managed",))


def fit(files: tuple[MemoryFile, ...], caps: MemoryCaps) -> tuple[MemoryFile, ...]:
    """`files`, together within `caps`; what was cut says so at its end. A file may be nothing but that."""
    auto, claude_md = _scaled(caps)
    for tiers, cap in ((_ORDER[:1], auto), (_ORDER[1:], claude_md), (_ORDER, caps.combined)):
        if cap is not None:
            members = {tier for group in tiers for tier in group}
            over = sum(_bytes(file) for file in files if file.tier in members) - cap * CHARS_PER_TOKEN
            for group in tiers:
                files, over = _cut(files, group, over)
    return files


def _scaled(caps: MemoryCaps) -> tuple[int | None, int | None]:
    """The caps of the two kinds; where both are more than all may have, each in its share of that."""
    if caps.auto is None or caps.claude_md is None:
        return caps.auto, caps.claude_md
    both = caps.auto + caps.claude_md
    if both <= caps.combined:
        return caps.auto, caps.claude_md
    return caps.auto * caps.combined // both, caps.claude_md * caps.combined // both


def _cut(
    files: tuple[MemoryFile, ...], tiers: tuple[Tier, ...], over_bytes: int
) -> tuple[tuple[MemoryFile, ...], int]:
    """`files` with `over_bytes` less in those of `tiers`, and how much is still too much."""
    kept: list[MemoryFile] = []
    for file in files:
        if over_bytes > 0 and file.tier in tiers:
            shorter = _shortened(file, over_bytes)
            over_bytes -= _bytes(file) - _bytes(shorter)
            file = shorter
        kept.append(file)
    return tuple(kept), over_bytes


def _shortened(file: MemoryFile, less_bytes: int) -> MemoryFile:
    """`file` with its end cut off, at a line where that loses little."""
    data = file.text.encode("utf-8", "surrogatepass")
    kept = data[: max(0, len(data) - less_bytes)].decode("utf-8", "ignore")
    line = kept.rfind("\n")
    if line > len(kept) * 3 // 4:
        kept = kept[:line]
    cut = len(data) - len(kept.encode("utf-8", "surrogatepass"))
    return replace(file, text=kept, cut_bytes=file.cut_bytes + cut)


def _bytes(file: MemoryFile) -> int:
    return len(file.text.encode("utf-8", "surrogatepass"))
