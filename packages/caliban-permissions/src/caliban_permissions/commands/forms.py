"""All the ways in which a simple command can be spelled: what deny and ask rules are compared with.

The command itself, its program without the directory, every command that a wrapper in it may run, and every
command in a script or a substitution in it, to a bounded depth.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import posixpath
import re
from collections import deque
from collections.abc import Iterable

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_permissions.commands.code import MAX_CODE, code_of, has_scripts, is_open, module_of, takes_code
from caliban_permissions.commands.spellings import spellings
from caliban_permissions.commands.synonyms import synonyms
from caliban_permissions.commands.wildcards import Directories, expand
from caliban_permissions.commands.wrappers import (
    HANDS_ON,
    MAX_LEADING,
    SHELLS,
    WRAPPERS,
    evaluated,
    inner_commands,
    may_run_input,
    opens_shell,
    program,
    reads_commands,
    scripts,
    splits_text,
    without_leading_options,
)
from caliban_permissions.shell import (
    HOLE,
    Opacity,
    ParsedLine,
    SimpleCommand,
    loose_commands,
    names_a_loader,
    read_line,
)
from caliban_permissions.shell.variables import INTEGERS
from caliban_permissions.side_effects import side_effects
from caliban_permissions.side_effects.bundles import unbundled
from caliban_permissions.side_effects.row import FETCHES, READS, WRITES

_RUNS_NEXT = ("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch")
_REBINDS = frozenset({"hash", "alias", "enable", "bind"})
_DECLARES = frozenset({"export", "declare", "typeset", "readonly", "local"})
_MAX_FORMS = 128
_MAX_INNER = 64
_MAX_SCRIPTS = 64
_MAX_DEPTH = 8
_MAX_CHARS = 40_000
_MAX_STARTS = 48
_MAX_WORDS = 2_000
_COMMAND_START = lazy_pattern(r"(?<![A-Za-z0-9_./~-])[A-Za-z0-9_./~][A-Za-z0-9_./-]*")
_ANYWHERE = lazy_pattern(r"[A-Za-z0-9_./~][A-Za-z0-9_./-]*")
_CLOSING = lazy_pattern(r"[\"'`)\]};|&\n]")
_SCRIPTED = frozenset(
    "sed gsed awk gawk mawk nawk original-awk ex vi vim nvim view rvim rview gvim vimdiff emacs".split()
)
"""Programs whose arguments are scripts in a language of their own, which runs commands."""
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_NAME = lazy_pattern(r"[A-Za-z_]")
_HARMLESS = (READS, WRITES, FETCHES)


class Forms(Struct, frozen=True):
    """The texts. `unknown` is set when something not among them may run as well.

    `code` is what interpreters are given: a command may begin anywhere in it. `inner` are the simple commands
    of `scripts`, `commands` the words of all. A text with a hole goes on with what is known only when it
    runs.
    """

    texts: tuple[str, ...]
    unknown: bool = False
    code: tuple[str, ...] = ()
    inner: tuple[SimpleCommand, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    scripts: tuple[str, ...] = ()

    @property
    def unsure(self) -> bool:
        """Whether something may run that does not stand in it."""
        return self.unknown or any(HOLE in text for text in self.texts)


def simple_forms(simple: SimpleCommand, base: str, home: str, line: str) -> Forms:
    """The forms of a simple command of a line that would run in `base`."""
    explorer = _Explorer(base, home)
    explorer.add_simple(simple, 0)
    explorer.unknown = explorer.unknown or (("|" in line or "<" in line) and _opens_shell(simple))
    return explorer.explored()


def text_forms(text: str, base: str, home: str) -> Forms:
    """The forms of a command that is known as plain text only."""
    explorer = _Explorer(base, home)
    explorer.queue.append((tuple(text.split(" ")), 0))
    return explorer.explored()


def doubt_forms(opacities: tuple[Opacity, ...], base: str, home: str) -> Forms:
    """The forms of what stands in doubts about a whole line."""
    explorer = _Explorer(base, home)
    explorer.add_doubts(opacities, 0)
    return explorer.explored()


class _Explorer:
    """Collects the forms of commands; what exceeds a bound makes the result unknown."""

    def __init__(self, base: str, home: str) -> None:
        self.base = base
        self.home = home
        self.queue: deque[tuple[tuple[str, ...], int]] = deque()
        self.texts: dict[str, None] = {}
        self.directories = Directories()
        self.code: dict[str, None] = {}
        self.inner: list[SimpleCommand] = []
        self.scripts: dict[str, None] = {}
        self.script_count = self.spent = 0
        self.unknown = False

    def explored(self) -> Forms:
        seen: dict[tuple[str, ...], None] = {}
        leading: list[tuple[str, ...]] = []
        while self.queue:
            words, depth = self.queue.popleft()
            if not words or words in seen:
                continue
            self.spent += sum(map(len, words))
            if len(seen) >= _MAX_FORMS or self.spent > _MAX_CHARS:
                self.unknown = True
                break
            seen[words] = None
            without = without_leading_options(words)
            leading += without
            self.unknown = self.unknown or len(without) == MAX_LEADING
            for form in (words, *without, *(other for each in (words, *without) for other in synonyms(each))):
                self.texts.update(dict.fromkeys(spellings(form, self.base, self.home)))
            self._inner(words, depth)
        self.unknown = self.unknown or sum(map(len, self.code)) > MAX_CODE
        commands = (*seen, *leading)
        texts, code, scripts = tuple(self.texts), tuple(self.code), tuple(self.scripts)
        return Forms(texts, self.unknown, code, tuple(self.inner), commands, scripts)

    def add_simple(self, simple: SimpleCommand, depth: int) -> None:
        argv = simple.argv
        if depth:
            self.inner.append(simple)
        if argv:
            self.queue.append((argv, depth))
            self._expanded(simple, depth)
            self._given(simple, depth)
        self.unknown = self.unknown or _fed_from_outside(simple)
        self.add_doubts(simple.opaque, depth)

    def _given(self, simple: SimpleCommand, depth: int) -> None:
        """What a shell, a wrapper or an interpreter is given to run, on its input or in a variable."""
        argv = simple.argv
        name = program(argv[0])
        runs = name in SHELLS or name in WRAPPERS
        tails = (argv, *inner_commands(argv, _MAX_INNER)) if name in WRAPPERS else (argv,)
        coded = any(takes_code(tail) or may_run_input(tail) for tail in tails)
        bodies = [item.target.text if item.op == "<<<" else item.body for item in simple.redirects]
        for body in bodies:
            if body is not None and runs:
                self._script(body, depth + 1)
            if body is not None and coded:
                self.code.setdefault(body)
        if coded or any(map(_names_code, tails)):
            self.unknown = self.unknown or any(word.raw.startswith("<(") for word in simple.words[1:])
        if any(map(code_of, tails)):
            self.code.update(dict.fromkeys(word.text.partition("=")[2] for word in simple.assigns))

    def _expanded(self, simple: SimpleCommand, depth: int) -> None:
        """The programs that a wildcard after a wrapper may name."""
        name = program(simple.argv[0])
        if name not in WRAPPERS and name not in SHELLS:
            return
        for index, word in enumerate(simple.words):
            if word.glob is None or not index or not _may_be_program(name, simple.argv, index):
                continue
            pattern = self.home + word.glob[1:] if word.at_home else word.glob
            names = expand(pattern, self.base, self.directories)
            self.unknown = self.unknown or names is None
            for path in names or ():
                self.queue.append(((path, *simple.argv[index + 1 :]), depth))

    def _delegated(self, words: tuple[str, ...]) -> None:
        """What an option or a script in the arguments runs: a command may begin anywhere in it."""
        if len(words) > _MAX_WORDS:
            self.unknown = True
            return
        words = unbundled(words)
        items = [item for item in side_effects(words)[:_MAX_INNER] if item.why not in _HARMLESS]
        if items:
            self._joined(words)
        for item in items:
            if item.word == 0:
                continue
            scripted = program(words[0]) in _SCRIPTED or "ext::" in words[item.word]
            self.unknown = self.unknown or scripted
            for index in _around(words, item.word):
                rest = " ".join(words[index + 1 :])
                starts = _command_starts(words, index)
                glued = _ANYWHERE.match(words[index], item.size) if index == item.word else None
                starts += [glued] if glued is not None else []
                self.unknown = self.unknown or len(starts) > _MAX_STARTS
                for start in starts[:_MAX_STARTS]:
                    tail = words[index][start.start() :]
                    quoted = _CLOSING.split(tail, maxsplit=1)[0]
                    for text in dict.fromkeys((f"{tail} {rest}".strip(), quoted)):
                        self.texts.setdefault(text)
                        self.texts.setdefault(posixpath.basename(start.group()) + text[len(start.group()) :])

    def _joined(self, words: tuple[str, ...]) -> None:
        """What stands in one word with an option of a program that may run it: `--browser=./p`, `-x./p`."""
        for word in words[1:]:
            if not word.startswith("-"):
                continue
            value = word.partition("=")[2] if word.startswith("--") else word[2:].removeprefix("=")
            for text in dict.fromkeys((value, value.rpartition("=")[2])):
                if text:
                    self.texts.setdefault(text)
                    head, blank, tail = text.partition(" ")
                    self.texts.setdefault(posixpath.basename(head) + blank + tail)

    def _line(self, line: ParsedLine, depth: int) -> None:
        for simple in line.simple_commands[:_MAX_FORMS]:
            self.add_simple(simple, depth)
        self.add_doubts(line.opaque, depth)
        self.unknown = self.unknown or len(line.simple_commands) > _MAX_FORMS
        if not line.clear:
            self.queue.extend(
                (tuple(text.split(" ")), depth) for text in loose_commands(line.text)[:_MAX_FORMS]
            )

    def add_text(self, text: str) -> None:
        self._script(text, 1)

    def _script(self, text: str, depth: int) -> None:
        self.script_count += 1
        self.spent += len(text)
        if depth > _MAX_DEPTH or self.script_count > _MAX_SCRIPTS or self.spent > _MAX_CHARS:
            self.unknown = True
        else:
            self.scripts.setdefault(text)
            self._line(read_line(text), depth)

    def add_doubts(self, opacities: Iterable[Opacity], depth: int) -> None:
        for opacity in opacities:
            self.unknown = self.unknown or opacity.runs
            if opacity.script is not None:
                self._script(opacity.script, depth + 1)

    def _inner(self, words: tuple[str, ...], depth: int) -> None:
        """What a wrapper, a shell or a builtin that evaluates its arguments runs besides itself."""
        name = program(words[0])
        for script in evaluated(words):
            self._script(script, depth + 1)
        self.unknown = self.unknown or splits_text(words) or _configures(words)
        if code := code_of(words):
            self.code.setdefault("\n".join(code))
            self.unknown = self.unknown or is_open(name, code)
        self._delegated(words)
        self.queue.extend((command, depth) for command in (module_of(words), _run_by_git(words)) if command)
        if name not in WRAPPERS and name not in SHELLS and name not in HANDS_ON:
            return
        inner = inner_commands(words, _MAX_INNER + 1)
        self.unknown = self.unknown or len(inner) > _MAX_INNER
        self.queue.extend((command, depth) for command in inner)
        self.queue.extend((command, depth) for command in _completed(name, words, inner))
        for script in scripts(words):
            self._script(script, depth + 1)


def _names_code(argv: tuple[str, ...]) -> bool:
    """Whether a file that is named in the arguments is a program."""
    return program(argv[0]) in SHELLS or has_scripts(argv)


def _computes(argv: tuple[str, ...]) -> bool:
    """Whether the value of a variable is computed, and a command in it run: `let x`, `declare -i y=x`."""
    if argv[0] == "let":
        return any(_NAME.search(word) for word in argv[1:])
    if argv[0] in _DECLARES:
        whole = any(re.match(r"[-+][A-Za-z]*i", word) for word in argv[1:])
        return whole or any(word.partition("=")[0].rstrip("+") in INTEGERS for word in argv[1:])
    return argv[0] in ("read", "printf", "getopts") and not INTEGERS.isdisjoint(argv[1:])


def _configures(words: tuple[str, ...]) -> bool:
    """Whether git is given a name for a command of which the text stands elsewhere, or in two words."""
    if program(words[0]) != "git":
        return False
    return any(word.startswith(("--config-env", "alias.")) for word in words[1:])


def _run_by_git(words: tuple[str, ...]) -> tuple[str, ...]:
    """The command that a sub-command of git runs, from all the words behind it."""
    if program(words[0]) != "git":
        return ()
    for index in range(1, len(words) - 2):
        if words[index : index + 2] in (("bisect", "run"), ("submodule", "foreach")):
            return ("command", *words[index + 2 :])
    return ()


def _completed(
    name: str, words: tuple[str, ...], inner: tuple[tuple[str, ...], ...]
) -> Iterable[tuple[str, ...]]:
    """The inner commands that go on with what is read, or with the name of a file that is found."""
    if name in ("xargs", "gxargs", "parallel"):
        return [(*command, HOLE) for command in inner]
    if name not in ("find", "gfind"):
        return ()
    starts = [
        index + 1 for index, word in enumerate(words) if word in _RUNS_NEXT and "{}" in words[index + 1 :]
    ]
    return [tuple(HOLE if word == "{}" else word for word in words[start:]) for start in starts]


def _around(words: tuple[str, ...], place: int) -> list[int]:
    """The word at `place`, and the next behind the options that follow it."""
    following = range(place + 1, len(words))
    return [place, *(index for index in following if not words[index].startswith("-"))][:2]


def _fed_from_outside(simple: SimpleCommand) -> bool:
    """Whether a simple command runs commands that come from its input, or changes what later names mean."""
    argv = simple.argv
    if not argv:
        return False
    if (
        argv[0] in _REBINDS
        or _computes(argv)
        or (argv[0] in _DECLARES and any(names_a_loader(word) for word in argv[1:]))
    ):
        return True
    given = any(redirect.op == "<<<" or redirect.body is not None for redirect in simple.redirects)
    wraps = program(argv[0]) in WRAPPERS or program(argv[0]) in SHELLS
    if wraps and any(_ASSIGNMENT.match(word) and names_a_loader(word) for word in argv[1:]):
        return True
    tails = (argv, *inner_commands(argv, _MAX_INNER)) if wraps else (argv,)
    return any((reads_commands(tail) and not given) or may_run_input(tail, given=given) for tail in tails)


def with_input(forms: Forms, argv: tuple[str, ...], text: str, base: str, home: str) -> Forms:
    """The forms of a command that runs what it reads, with those of the text that it is handed."""
    wraps = program(argv[0]) in WRAPPERS or program(argv[0]) in SHELLS
    tails = (argv, *inner_commands(argv, _MAX_INNER)) if wraps else (argv,)
    if not any(reads_commands(tail) or may_run_input(tail) for tail in tails):
        return forms
    explorer = _Explorer(base, home)
    if any(map(reads_commands, tails)):
        explorer.add_text(text)
    more = explorer.explored()
    return Forms(
        (*forms.texts, *more.texts),
        forms.unknown or more.unknown,
        (*forms.code, text, *more.code),
        (*forms.inner, *more.inner),
        (*forms.commands, *more.commands),
        (*forms.scripts, *more.scripts),
    )


def _opens_shell(simple: SimpleCommand) -> bool:
    """Whether a simple command runs a shell that reads what does not stand in it."""
    if not simple.argv or any(item.op == "<<<" or item.body is not None for item in simple.redirects):
        return False
    return opens_shell(simple.argv)


def _command_starts(words: tuple[str, ...], index: int) -> list[re.Match[str]]:
    """Where in an argument a command may begin; in a script of sed right after any letter."""
    if program(words[0]) not in ("sed", "gsed"):
        return list(_COMMAND_START.finditer(words[index]))
    places = (
        _ANYWHERE.match(words[index], place) for place in range(min(len(words[index]), _MAX_STARTS + 1))
    )
    return [place for place in places if place is not None]


def _may_be_program(name: str, argv: tuple[str, ...], index: int) -> bool:
    """Whether the word at `index` may be the program that a wrapper runs: for `find` only after `-exec`."""
    return name not in ("find", "fd", "fdfind") or argv[index - 1] in _RUNS_NEXT
