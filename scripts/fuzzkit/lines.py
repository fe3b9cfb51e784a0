"""Random command lines: mostly sound, often odd where shells are odd."""

from __future__ import annotations

import random

from fuzzkit.pieces import FRAGMENTS, OPERATORS, PROGRAMS, REDIRECTS, SIGNS, WORDS, WRAPPED


class Lines:
    """Random lines from a source of chance. With `hidden` some part of a line runs `rec3`."""

    def __init__(self, pick: random.Random, *, hidden: bool = False) -> None:
        self.pick = pick
        self.hidden = hidden

    def word(self) -> str:
        """One argument."""
        if self.pick.random() < 0.45:
            return self.pick.choice(WORDS)
        return "".join(self.pick.choice(FRAGMENTS) for _ in range(self.pick.choice([1, 1, 2, 3])))

    def simple(self) -> str:
        """A command with arguments and redirects."""
        if self.hidden and self.pick.random() < 0.35:
            return self.pick.choice(WRAPPED)
        text = self.pick.choice(PROGRAMS)
        if self.pick.random() < 0.04:
            text = self.pick.choice(REDIRECTS).lstrip() + text
        for _ in range(self.pick.choice([0, 1, 1, 2, 3])):
            text += self.pick.choice([" ", " ", "  ", "\t", " \\\n "]) + self.word()
        if self.pick.random() < 0.3:
            text += self.pick.choice(REDIRECTS)
        if self.pick.random() < 0.06:
            text += self.pick.choice([" # x; rec3", " #'", " #\\\n rec3"])
        return text

    def test(self) -> str:
        """A `[[`, mostly one that could be a `[`."""
        kind = self.pick.choice(
            ["-f", "-n", "-z", "-e", "==", "=", "!=", "-nt", "-eq", "=~", "<", "-v", "&&"]
        )
        words = [self.word(), kind, self.word()] if kind[0] != "-" or len(kind) > 2 else [kind, self.word()]
        blank = self.pick.choice([" ", " ", "  ", "\t", "\n"])
        negated = ["!"] if self.pick.random() < 0.2 else []
        return blank.join(["[[", *negated, *words, "]]"])

    def compound(self, depth: int) -> str:
        """A group, a condition or a loop."""
        inner, other = self.line(depth + 1), self.line(depth + 1)
        end = self.pick.choice(["; ", ";", "\n", " ;\n"])
        values = " ".join(self.word() for _ in range(self.pick.choice([0, 1, 2])))
        name = self.pick.choice(["x", "y", "x", "i", "PATH", "1"])
        text = self.pick.choice(
            [
                f"({inner})",
                f"{{ {inner}{end}}}",
                f"if {inner}{end}then {other}{end}fi",
                f"if rec1{end}then {inner}{end}else {other}{end}fi",
                f"if rec1{end}then {inner}{end}elif rec2{end}then {other}{end}fi",
                f"for {name} in {values}{end}do {inner}{end}done",
                f"for x in a b.txt{end}do {inner}{end}done",
                f"for x in *.txt{end}do rec1 $x{end}{inner}{end}done",
                f"for x in rec3 a{end}do {inner}{end}done",
                f"while rec1{end}do {inner}{end}done",
                f"while false{end}do {inner}{end}done",
                f"{self.test()} && {inner}",
                f"if {self.test()}{end}then {inner}{end}else {other}{end}fi",
                f"x={self.word()}{end}{inner}",
                f"rec1 $({inner})",
                f'rec1 "$({inner})"',
                f"x=$({inner}){end}{other}",
                f"rec1 \"$(cat <<'E'\n{inner}\nE\n)\"",
            ]
        )
        if self.pick.random() < 0.15:
            text += self.pick.choice(REDIRECTS)
        return text

    def loose(self) -> str:
        """Pieces in any order, glued or not: seldom sound, and read by a shell all the same."""
        kinds = (FRAGMENTS, WORDS, PROGRAMS, SIGNS, SIGNS)
        pieces = [self.pick.choice(self.pick.choice(kinds)) for _ in range(self.pick.randint(1, 8))]
        if self.hidden:
            pieces.insert(
                self.pick.randrange(len(pieces) + 1), self.pick.choice(["rec3", "rec3", "rec3 ", "-rec3"])
            )
        return "".join(piece + self.pick.choice(["", " ", " "]) for piece in pieces)

    def line(self, depth: int = 0) -> str:
        """A whole command."""
        if depth == 0 and self.pick.random() < 0.25:
            return self.loose()
        text = ""
        for number in range(self.pick.choice([1, 1, 2, 2, 3])):
            text += self.pick.choice(OPERATORS) if number else ""
            text += self.compound(depth) if depth < 2 and self.pick.random() < 0.2 else self.simple()
        return text
