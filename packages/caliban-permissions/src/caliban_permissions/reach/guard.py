"""Which paths the rules mean that deny or ask: quick enough to be asked about every file of a directory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from caliban_common.lazy import cached_property
from caliban_permissions.paths import Parts, folded
from caliban_permissions.rules.chain import Ruling
from caliban_permissions.rules.compiled import CompiledRule
from caliban_permissions.rules.glob import PathGlob, TextGlob
from caliban_permissions.rules.pattern import ArgumentGlob
from caliban_permissions.subjects import PathSubject


class Guard:
    """The deny and ask rules about some tools; `decide` gives the ruling on one path, other rules counted.

    What is made of the rules is made when a command reaches anything at all: most do not.
    """

    def __init__(
        self,
        rules: Sequence[CompiledRule],
        tools: tuple[str, ...],
        decide: Callable[[PathSubject], Ruling],
    ) -> None:
        self.rules = tuple(rule for rule in rules if isinstance(rule.pattern.argument, ArgumentGlob))
        self.tools = tools
        self.decide = decide

    def means(self, parts: Parts) -> bool:
        """Whether a glob covers the path with these components, and none above it does by its name."""
        name = parts[-1] if parts else ""
        plain = (name.lower().rstrip(". ") or name) if name.isascii() else folded((name,))[0]
        if self._last.fullmatch(plain) is None:
            return False
        own = folded(parts)
        return any(glob.covers(own) for glob in self._globs)

    def below(self, root: Parts) -> Iterator[tuple[Parts, bool]]:
        """The places at or below `root` to look into, and whether a place is itself what a rule means."""
        for start, whole in self._starts:
            if root[: len(start)] == start:
                if len(root) > len(start) or not whole:
                    yield root, False
            elif start[: len(root)] == root:
                yield start, whole

    @cached_property
    def _globs(self) -> tuple[PathGlob, ...]:
        return tuple(glob for rule in self.rules for glob in rule.folded_paths)

    @cached_property
    def _last(self) -> re.Pattern[str]:
        """The last names that globs have: those of most files are none of them, and one look is enough."""
        last = {
            next((part for part in reversed(glob.components) if part is not None), None)
            for glob in self._globs
        }
        return re.compile("|".join(sorted(_expression(part) for part in last if part is not None)), re.DOTALL)

    @cached_property
    def _starts(self) -> tuple[tuple[Parts, bool], ...]:
        """Where what a rule means begins to be unknown, and whether it is that very place."""
        starts: list[tuple[Parts, bool]] = []
        for glob in (glob for rule in self.rules for glob in rule.wide_paths):
            literal: list[str] = []
            for part in glob.components:
                if part is None or not part.exact:
                    break
                literal.append(part.prefix)
            starts.append((tuple(literal), all(part is None for part in glob.components[len(literal) :])))
        return tuple(starts)


def _expression(glob: TextGlob) -> str:
    return ".*".join(
        re.escape(piece) if isinstance(piece, str) else f"(?:{piece.pattern})" for piece in glob.pieces
    )
