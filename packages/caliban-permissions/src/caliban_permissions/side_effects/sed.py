"""Reading a sed script far enough to say that it only prints.

Everything but the common editing commands counts as running or writing: the answer errs on that side.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from caliban_common.lazy import lazy_pattern
from caliban_permissions.side_effects.row import LOADS, WRITES, Evidence, whole

DOES_MORE = "uses sed commands that run programs or touch files"
_ADDRESS = lazy_pattern(r"(?:\d+(?:~\d+)?|\$|[+~]\d+)")
_COMMANDS = frozenset("pdDPhHgGxnNqQ=lz")
_FLAGS = lazy_pattern(r"(?:[0-9]+|[gpiIM])*")
_LABEL = lazy_pattern(r"[A-Za-z0-9_]*")
_LONG_SAFE = frozenset(
    "quiet silent regexp-extended null-data zero-terminated unbuffered posix sandbox line-length debug "
    "separate expression version help follow-symlinks binary".split()
)


def sed_evidence(argv: tuple[str, ...]) -> list[Evidence]:
    """Evidence for in-place editing, script files, and scripts that do more than edit the stream."""
    items: list[Evidence] = []
    scripts: list[int | tuple[int, str]] = []
    operands: list[int] = []
    index = 1
    while index < len(argv):
        word = argv[index]
        if word == "--":
            operands.extend(range(index + 1, len(argv)))
            break
        if word.startswith("--"):
            index += _long(argv, index, items, scripts)
        elif word.startswith("-") and len(word) > 1:
            index += _short(argv, index, items, scripts)
        else:
            operands.append(index)
        index += 1
    if not scripts and operands:
        scripts.append(operands[0])
    for script in scripts:
        place, text = script if isinstance(script, tuple) else (script, argv[script])
        if not prints_only(text):
            items.append(whole(argv, place, DOES_MORE))
    return items


def _long(
    argv: tuple[str, ...], index: int, items: list[Evidence], scripts: list[int | tuple[int, str]]
) -> int:
    name, equals, value = argv[index][2:].partition("=")
    matches = [full for full in (*_LONG_SAFE, "file", "in-place") if full.startswith(name)] if name else []
    if "expression".startswith(name) and "expression" in matches:
        scripts.append((index, value) if equals else min(index + 1, len(argv) - 1))
        return int(not equals)
    if matches and not {"file", "in-place"} & set(matches):
        return int(name == "line-length" and not equals)
    items.append(Evidence(index, len(name) + 2, WRITES if "in-place" in matches else LOADS, argv[index]))
    return 0


def _short(
    argv: tuple[str, ...], index: int, items: list[Evidence], scripts: list[int | tuple[int, str]]
) -> int:
    word = argv[index]
    for place, letter in enumerate(word[1:], start=2):
        glued = word[place:]
        if letter == "e":
            scripts.append((index, glued) if glued else min(index + 1, len(argv) - 1))
            return int(not glued)
        if letter == "l":
            return int(not glued)
        if letter in "if" or letter not in "nErszu":
            items.append(Evidence(index, place, WRITES if letter == "i" else LOADS, word))
            return int(letter == "f" and not glued)
    return 0


def prints_only(script: str) -> bool:
    """Whether every command of the script is known to change nothing but the output."""
    reader = _Reader(script)
    return reader.read()


class _Reader:
    def __init__(self, script: str) -> None:
        self.script = script
        self.at = 0

    def read(self) -> bool:
        script = self.script
        while self.at < len(script):
            if script[self.at] in " \t\n;{}":
                self.at += 1
            elif script[self.at] == "#":
                self.at = _line_end(script, self.at)
            elif not (self._addresses() and self._command()):
                return False
        return True

    def _addresses(self) -> bool:
        if not self._address():
            return False
        self._blanks()
        if self.script.startswith(",", self.at):
            self.at += 1
            self._blanks()
            if not self._address():
                return False
            self._blanks()
        while self.script.startswith(("!", " "), self.at):
            self.at += 1
        return self.at < len(self.script)

    def _address(self) -> bool:
        """Skip one address, or nothing; false for one that cannot be read."""
        address = _ADDRESS.match(self.script, self.at)
        if address is not None:
            self.at = address.end()
        elif self.script.startswith("/", self.at):
            return self._delimited("/", 1) and self._address_flags()
        elif self.script.startswith("\\", self.at):
            delimiter = self.script[self.at + 1 : self.at + 2]
            self.at += 1
            return bool(delimiter.strip()) and self._delimited(delimiter, 1) and self._address_flags()
        return True

    def _address_flags(self) -> bool:
        while self.script.startswith(("I", "M"), self.at):
            self.at += 1
        return True

    def _command(self) -> bool:
        letter = self.script[self.at]
        self.at += 1
        if letter in "{}":
            return True
        if letter in "aic":
            return self._text()
        if letter in "sy":
            delimiter = self.script[self.at : self.at + 1]
            if not delimiter or delimiter in "\\\n" or not self._delimited(delimiter, 2, letter == "s"):
                return False
            flags = _FLAGS.match(self.script, self.at)
            self.at = flags.end() if flags and letter == "s" else self.at
            return self._end()
        if letter in "bt:T":
            self._blanks()
            label = _LABEL.match(self.script, self.at)
            self.at = label.end() if label else self.at
            return self._end()
        if letter in "qQl":
            self._blanks()
            digits = _ADDRESS.match(self.script, self.at)
            self.at = digits.end() if digits else self.at
        return letter in _COMMANDS and self._end()

    def _text(self) -> bool:
        """The text of `a`, `i` and `c` reaches to the end of the line and never beyond it."""
        end = _line_end(self.script, self.at)
        text = self.script[self.at : end]
        self.at = end
        return not text.endswith("\\")

    def _delimited(self, delimiter: str, count: int, expression: bool = True) -> bool:
        """Skip the opening delimiter and `count` parts that each end in one; the first is an expression."""
        self.at += 1
        for part in range(count):
            bracket = False
            while True:
                char = self.script[self.at : self.at + 1]
                if not char or char == "\n":
                    return False
                self.at += 2 if char == "\\" else 1
                if char == delimiter:
                    if bracket:
                        return False  # tools disagree whether a bracket hides the delimiter
                    break
                if expression and part == 0:
                    bracket = self._bracket(char, bracket)
        return True

    def _bracket(self, char: str, inside: bool) -> bool:
        """Whether the next character is inside a bracket expression; `char` was just passed."""
        if not inside:
            if char == "[":
                self.at += self.script.startswith("^", self.at)
                self.at += self.script.startswith("]", self.at)
            return char == "["
        if char == "[" and self.script.startswith(":", self.at):
            end = self.script.find(":]", self.at)
            self.at = end + 2 if end >= 0 else self.at
            return True
        return char != "]"

    def _end(self) -> bool:
        self._blanks()
        return self.at >= len(self.script) or self.script[self.at] in ";\n}#"

    def _blanks(self) -> None:
        while self.script.startswith((" ", "\t"), self.at):
            self.at += 1


def _line_end(script: str, start: int) -> int:
    end = script.find("\n", start)
    return len(script) if end < 0 else end
