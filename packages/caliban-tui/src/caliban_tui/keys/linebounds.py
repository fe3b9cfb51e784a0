"""Where the lines of a text begin and end."""

from __future__ import annotations


def line_start(text: str, place: int) -> int:
    """Where the line of a place begins."""
    return text.rfind("\n", 0, place) + 1


def line_end(text: str, place: int) -> int:
    """The place behind the last character of a line."""
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def after_indent(text: str, start: int) -> int:
    """The first character of a line that is no blank, else its last; `start` is where the line begins."""
    end = line_end(text, start)
    place = next((place for place in range(start, end) if text[place] not in " \t"), end)
    return place if place < end else max(end - 1, start)


def is_in_indent(text: str, place: int) -> bool:
    """Whether nothing but blanks is before a place in its line."""
    return not text[line_start(text, place) : place].strip(" \t")
