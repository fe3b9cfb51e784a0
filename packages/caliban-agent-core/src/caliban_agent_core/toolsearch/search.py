"""The tool that finds deferred tools by name and description, and shows them from then on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from caliban_agent_core.toolsearch.active import ActiveTools, gone_words
from caliban_agent_core.toolsearch.spec import MAX_RESULTS, PROPERTIES, RESULTS, search_spec
from caliban_common.arguments import Arguments
from caliban_common.errors import ArgumentError
from caliban_common.text import clean, one_line, plural
from caliban_common.tool import ToolContext, ToolOutput, ToolSpec

EXACT, IN_NAME, IN_DESCRIPTION = 1000, 800, 400
"""What a match is worth (behaviours 2.6)."""

MAX_NAMES = 100
"""Names in the answer to a search that found nothing."""

SELECT = "select:"


class ToolSearch:
    """Finds tools among those that `deferred` gives, and makes them `active`."""

    def __init__(self, active: ActiveTools, deferred: Callable[[], tuple[ToolSpec, ...]]) -> None:
        self.spec: ToolSpec = search_spec()
        self._active = active
        self._deferred = deferred

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """What is active: it changes in the order of the calls."""
        return "the active tools"

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Search; see `Tool`. Raises `ArgumentError`."""
        given = Arguments(args, known=tuple(PROPERTIES))
        query = given.string("query").strip()
        most = given.integer("max_results", RESULTS, low=1, high=MAX_RESULTS)
        if not query:
            raise ArgumentError("the query is empty")
        specs = self._deferred()
        if query.startswith(SELECT):
            names = tuple(dict.fromkeys(filter(None, map(str.strip, query[len(SELECT) :].split(",")))))
            if not names:
                raise ArgumentError(f"{SELECT} names no tool")
            matches, missing = selected(names, specs)
        else:
            matches, missing = ranked(query, specs), ()
        return self._answer(query, matches[: min(most, self._active.deferral.max_active)], missing, specs)

    def _answer(
        self, query: str, matches: tuple[ToolSpec, ...], missing: tuple[str, ...], specs: tuple[ToolSpec, ...]
    ) -> ToolOutput:
        names = [spec.name for spec in matches]
        gone = self._active.use(*names)
        self._active.use(*reversed(names))  # of these the best one goes last
        shown = one_line(query, max_chars=100)
        lines = []
        if matches:
            count = plural(len(matches), "tool")
            lines.append(f"→ ToolSearch {shown!r}: {count}, to be called from your next reply on")
            lines += map(_line, matches)
        else:
            lines.append(f"→ ToolSearch {shown!r}: nothing is found")
        if missing:
            unknown = ", ".join(one_line(name, max_chars=80) for name in missing[:MAX_RESULTS])
            lines.append(f"no tool that is held back is called {unknown}")
        if not matches:
            lines.append(f"there are: {_names(specs)}")
        if gone:
            lines.append(gone_words(gone, self._active))
        details = {"found": names, "gone": list(gone)}
        return ToolOutput.of(clean("\n".join(lines)), details=details)


def selected(
    names: tuple[str, ...], specs: Iterable[ToolSpec]
) -> tuple[tuple[ToolSpec, ...], tuple[str, ...]]:
    """The tools of these names, in their order, and the names that no tool has. Case counts only at need."""
    exact = {spec.name: spec for spec in specs}
    folded = {name.casefold(): spec for name, spec in exact.items()}
    by_name = {name: exact.get(name) or folded.get(name.casefold()) for name in names}
    there = dict.fromkeys(spec.name for spec in by_name.values() if spec is not None)
    return tuple(exact[name] for name in there), tuple(name for name in names if by_name[name] is None)


def ranked(query: str, specs: Iterable[ToolSpec]) -> tuple[ToolSpec, ...]:
    """The tools that `query` matches, the best first, those of one score by name."""
    scored = [(score(query, spec), spec) for spec in specs]
    scored.sort(key=lambda pair: (-pair[0], pair[1].name))
    return tuple(spec for points, spec in scored if points)


def score(query: str, spec: ToolSpec) -> int:
    """How well a tool fits: as the query as a whole does, or else on the average of its words."""
    whole = _score(query.casefold(), spec)
    words = query.casefold().split()
    return whole or sum(_score(word, spec) for word in words) // len(words)


def _score(text: str, spec: ToolSpec) -> int:
    name = spec.name.casefold()
    if text == name:
        return EXACT
    if text in name:
        return IN_NAME
    return IN_DESCRIPTION if text in spec.description.casefold() else 0


def _line(spec: ToolSpec) -> str:
    shown = {"name": spec.name, "description": spec.description, "input_schema": spec.input_schema}
    return json.dumps(shown, ensure_ascii=False, default=str)


def _names(specs: tuple[ToolSpec, ...]) -> str:
    more = f" and {len(specs) - MAX_NAMES} more" if len(specs) > MAX_NAMES else ""
    return ", ".join(sorted(spec.name for spec in specs)[:MAX_NAMES]) + more
