"""What could stand where the cursor is, and the menu of it: commands, their words, whatever else suggests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, Protocol, TypeAlias

from msgspec import Struct

from caliban_commands.command import GROUPS, Place, SlashCommand
from caliban_commands.registry import CommandRegistry
from caliban_common.errors import CalibanError
from caliban_common.lazy import lazy_pattern
from caliban_tui.draft.menu import MENU_ROWS, MenuRow, MenuView
from caliban_tui.draft.rank import NO_FIT, fit

COMMAND: Final = lazy_pattern(r"/([\w.:-]*)")
ARGUMENTS: Final = lazy_pattern(r"/([A-Za-z0-9][\w.:-]*)[ \t]+(.*)")
MAX_WORDS: Final = 200


class Suggestion(Struct, frozen=True, kw_only=True):
    """One thing that could be taken: `text` goes in the place of what was typed of it.

    `sends` is true where nothing more needs to be typed behind it.
    """

    text: str
    label: str
    detail: str = ""
    heading: str = ""
    sends: bool = False


class Suggestions(Struct, frozen=True, kw_only=True):
    """What could stand between the characters `start` and `end` of the draft, the best first.

    `more` counts what is not listed. `chooses` says whether Enter takes the first as long as nobody has
    moved; without it Enter sends what was typed. `hint` is a line below.
    """

    start: int
    end: int
    items: tuple[Suggestion, ...]
    more: int = 0
    chooses: bool = True
    hint: str = ""


class Suggester(Protocol):
    """Knows what could be meant by what is typed; quick, for it is asked at every key."""

    def suggest(self, text: str, cursor: int) -> Suggestions | None:
        """What could stand at `cursor` of `text`; `None` where this suggester has no part in it."""
        ...


class CommandSuggester:
    """The commands behind a `/` that begins the draft, then the words of each."""

    def __init__(self, commands: Callable[[], CommandRegistry | None], place: Callable[[], Place]) -> None:
        self._commands = commands
        self._place = place

    def suggest(self, text: str, cursor: int) -> Suggestions | None:
        """See `Suggester`."""
        commands = self._commands()
        if commands is None or not text.startswith("/") or "\n" in text[:cursor]:
            return None
        if match := COMMAND.fullmatch(text[:cursor]):
            if text[cursor : cursor + 1].strip():
                return None
            return self._names(match[1], cursor, commands)
        match = ARGUMENTS.fullmatch(text[:cursor])
        if match is None or text[cursor:].strip():
            return None
        command = commands.find(match[1])
        if command is None or command.later:
            return None
        return _words(command, match.start(2), cursor, match[2])

    def _names(self, typed: str, cursor: int, commands: CommandRegistry) -> Suggestions | None:
        place = self._place()
        listed = [row for row in commands if not row.hidden and not row.later and place in row.places]
        exact = commands.find(typed) if typed else None
        if typed:
            ranked = sorted(((_fit_of(typed, row), row) for row in listed), key=lambda pair: -pair[0])
            listed = [row for good, row in ranked if good != NO_FIT]
            if exact in listed and exact is not None:
                listed.remove(exact)
                listed.insert(0, exact)
        else:
            listed.sort(key=lambda row: GROUPS.index(row.group))
        if not listed:
            return None
        items: list[Suggestion] = []
        group = ""
        for row in listed:
            heading = row.group if not typed and row.group != group else ""
            group = row.group
            items.append(_command(row, heading))
        return Suggestions(start=0, end=cursor, items=tuple(items))


def _fit_of(typed: str, row: SlashCommand) -> float:
    return max(fit(typed, row.name), *(fit(typed, alias) - 0.5 for alias in row.aliases), NO_FIT)


def _command(row: SlashCommand, heading: str) -> Suggestion:
    label = f"/{row.name} {row.arguments}".rstrip()
    needs = row.arguments.startswith("<")
    source = "" if row.source in ("built-in", "") else f" ({row.source})"
    return Suggestion(
        text=f"/{row.name} ",
        label=label,
        detail=f"{row.summary}{source}",
        heading=heading,
        sends=not needs,
    )


def _words(command: SlashCommand, start: int, end: int, typed: str) -> Suggestions | None:
    """What the command itself says could stand behind it."""
    if command.complete is None:
        return None
    try:
        words = command.complete(typed)[:MAX_WORDS]
    except CalibanError:
        return None
    last = typed.rsplit(None, 1)[-1] if typed and not typed[-1].isspace() else ""
    ranked = [(fit(typed, word), word) for word in words] if typed else [(0.0, word) for word in words]
    if all(good == NO_FIT for good, _ in ranked):
        start = end - len(last)
        ranked = [(fit(last, word), word) for word in words] if last else [(0.0, word) for word in words]
    fitting = [word for good, word in sorted(ranked, key=lambda pair: -pair[0]) if good != NO_FIT]
    if not fitting or fitting == [typed[start - end :] if start < end else ""]:
        return None
    items = tuple(Suggestion(text=word, label=word, sends=True) for word in fitting)
    return Suggestions(start=start, end=end, items=items, chooses=False)


EnterMeans: TypeAlias = Literal["take", "send", "nothing"]


class DraftMenu:
    """The menu that is open: what is suggested, and which of it is chosen."""

    def __init__(self, suggesters: Sequence[Suggester]) -> None:
        self._suggesters = suggesters
        self._suggestions: Suggestions | None = None
        self._selected = 0
        self._has_moved = False
        self._closed_at: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is anything to choose."""
        return self._suggestions is not None

    def update(self, text: str, cursor: int, *, opens: bool = True) -> None:
        """Something was typed, or more is known. Without `opens` a closed menu stays closed."""
        before = self._suggestions
        if before is None and not opens:
            return
        self._suggestions = self._suggested(text, cursor)
        now = self._suggestions
        if now is None:
            self._closed_at = None
            return
        if self._closed_at is not None:
            if now.start == self._closed_at:
                self._suggestions = None
                return
            self._closed_at = None
        if before is None or before.items != now.items:
            self._select_again(before, now)

    def _select_again(self, before: Suggestions | None, now: Suggestions) -> None:
        chosen = before.items[self._selected].text if before and self._has_moved else None
        texts = [item.text for item in now.items]
        self._has_moved = chosen is not None and chosen in texts
        self._selected = texts.index(chosen) if self._has_moved and chosen is not None else 0

    def reopen(self, text: str, cursor: int) -> bool:
        """Open it though it was closed; whether there is anything to choose."""
        self._closed_at = None
        self.update(text, cursor)
        return self.is_open

    def close(self) -> None:
        """Close it, for as long as the same word is typed."""
        if self._suggestions is not None:
            self._closed_at = self._suggestions.start
        self._suggestions = None

    def drop(self) -> None:
        """Close it, for the draft is another one."""
        self._suggestions = self._closed_at = None

    def move(self, steps: int) -> None:
        """Choose another row, round the ends."""
        if self._suggestions is not None:
            first = -1 if not self._suggestions.chooses and not self._has_moved and steps > 0 else 0
            self._selected = (self._selected + first + steps) % len(self._suggestions.items)
            self._has_moved = True

    def chosen(self) -> tuple[Suggestion, int, int] | None:
        """What is chosen, and which characters of the draft it replaces."""
        now = self._suggestions
        return None if now is None else (now.items[self._selected], now.start, now.end)

    def enter(self, text: str) -> EnterMeans:
        """What Enter means: to take what is chosen, to take and send it, or nothing to the menu."""
        now = self._suggestions
        if now is None or (not now.chooses and not self._has_moved):
            return "nothing"
        item = now.items[self._selected]
        if not item.sends and text[now.start : now.end] == item.text.rstrip():
            return "nothing"
        return "send" if item.sends and not text[now.end :].strip() else "take"

    def view(self) -> MenuView | None:
        """What is to be drawn of it."""
        now = self._suggestions
        if now is None:
            return None
        top = min(max(self._selected - MENU_ROWS // 2, 0), max(len(now.items) - MENU_ROWS, 0))
        shown = now.items[top : top + MENU_ROWS]
        rows = [MenuRow(label=item.label, detail=item.detail, heading=item.heading) for item in shown]
        is_chosen = now.chooses or self._has_moved
        return MenuView(
            rows=tuple(rows),
            selected=self._selected - top if is_chosen else -1,
            more=len(now.items) - len(shown) + now.more,
            hint=now.hint,
        )

    def _suggested(self, text: str, cursor: int) -> Suggestions | None:
        return first_of(suggester.suggest(text, cursor) for suggester in self._suggesters)


def accepted(text: str, item: Suggestion, start: int, end: int) -> tuple[str, int]:
    """`text` with `item` in the place of what was typed of it, and the cursor behind that."""
    rest = text[end:]
    put = item.text.rstrip() if rest[:1].isspace() and item.text.endswith(" ") else item.text
    return text[:start] + put + rest, start + len(put)


def first_of(all_of_them: Iterable[Suggestions | None]) -> Suggestions | None:
    """The first that suggests anything."""
    return next((some for some in all_of_them if some is not None and some.items), None)
