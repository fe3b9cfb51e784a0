"""The grammar: lists, pipelines, subshells and groups of simple commands with redirects.

Loops, conditions, functions, arithmetic and whatever else bash knows are doubts about the whole line. The
simple commands of a doubtful line are a best guess, good enough for deny rules only.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import re

from caliban_permissions.characters import MAX_CHECKED_CHARS, hidden_character
from caliban_permissions.shell.lex import Lexer, LexToken
from caliban_permissions.shell.line import HOLE, Opacity, ParsedLine, Redirect, SimpleCommand, Word

_SEPARATORS = frozenset({";", "&", "&&", "||", "|", "|&", "\n"})
_NEED_A_COMMAND = frozenset({"&&", "||", "|", "|&"})
_CONTROL = frozenset(
    "if then elif else fi for while until do done case esac select function time coproc [[ ]]".split()
)
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]]*\])?\+?=")
_INERT_VALUE = re.compile(r"[A-Za-z0-9_.,@+-]*")
_TIME_ZONE = re.compile(r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)*")

INERT_VARIABLES = frozenset(
    "LANG LANGUAGE TZ TERM COLORTERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CI "
    "RUST_BACKTRACE PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED "
    "LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES LC_MONETARY "
    "LC_NAME LC_NUMERIC LC_PAPER LC_TELEPHONE LC_TIME".split()
)
"""Variables that may stand before an allowed command: they change looks, not what runs."""


def parse_line(text: str) -> ParsedLine:
    """Read a command. Total and linear: it raises nothing and looks at each character a few times."""
    doubts: list[Opacity] = []
    hidden = hidden_character(text)
    if hidden is not None:
        doubts.append(Opacity("hidden character", hidden, runs=True))
    if len(text) > MAX_CHECKED_CHARS:
        doubts.append(Opacity(f"length above {MAX_CHECKED_CHARS} characters", runs=True))
        return ParsedLine(text, (), (), tuple(doubts))
    return _Parser(Lexer(text).run(), doubts).parse()


class _Parser:
    """`_required` is the operator that still waits for a command; `_closed` holds right after a group."""

    def __init__(self, lexer: Lexer, doubts: list[Opacity]) -> None:
        self.lexer = lexer
        self.doubts = doubts + lexer.doubts
        self.simple_commands: list[SimpleCommand] = []
        self.group_redirects: list[Redirect] = []
        self.groups: list[str] = []
        self._required: str | None = None
        self._closed = False
        self._draft = _Draft()

    def parse(self) -> ParsedLine:
        tokens = self.lexer.tokens
        index = 0
        while index < len(tokens):
            token = tokens[index]
            index += 1
            if token.kind == "redirect":
                target = tokens[index].word if index < len(tokens) else None
                self._redirect(token, index - 1, target)
                index += target is not None
            elif token.word is not None:
                self._word(token.word)
            else:
                self._operator(token, tokens[index] if index < len(tokens) else None)
        self._finish()
        if self._required is not None:
            self._doubt("nothing follows", self._required)
        if self.groups:
            self._doubt("unclosed group", self.groups[-1])
        if not self.simple_commands and not self.doubts:
            self._doubt("no command")
        return ParsedLine(
            self.lexer.text, tuple(self.simple_commands), tuple(self.group_redirects), tuple(self.doubts)
        )

    def _doubt(self, what: str, text: str = "", *, runs: bool = True) -> None:
        self.doubts.append(Opacity(what, text, runs))

    def _word(self, word: Word) -> None:
        if self._closed:
            self._doubt("a word after a group", word.raw)
            self._closed = False
        if self._draft.empty and self._reserved(word):
            return
        assignment = None if self._draft.words else _ASSIGNMENT.match(word.raw)
        if assignment is not None:
            self._draft.assigns.append(word)
        else:
            self._draft.words.append(word)
        self._draft.extend(word.start, word.end)

    def _reserved(self, word: Word) -> bool:
        """Take a reserved word at the start of a command; false for an ordinary word."""
        if word.raw == "!":
            if self._required in ("|", "|&"):
                self._doubt("unexpected operator", "!")
            self._required = "!"
        elif word.raw == "{":
            self.groups.append("{")
            self._required = "{"
        elif word.raw == "}":
            self._close("{", "}")
        elif word.raw in _CONTROL:
            self._doubt("control flow", word.raw, runs=word.raw == "function")
            self._required = None
        else:
            return False
        return True

    def _redirect(self, token: LexToken, index: int, target: Word | None) -> None:
        if target is None:
            self._doubt("a redirect without a target", token.text)
            return
        redirect = Redirect(token.text, target, token.descriptor, self.lexer.bodies.get(index))
        if self._closed:
            self.group_redirects.append(redirect)
            self.doubts.extend(_target_opacity(redirect))
            return
        self._draft.redirects.append(redirect)
        self._draft.extend(token.start - len(token.descriptor), target.end)

    def _operator(self, token: LexToken, following: LexToken | None) -> None:
        if token.text == "(":
            self._open(token, following)
        elif token.text == ")":
            self._finish()
            self._close("(", ")")
        elif token.text in _SEPARATORS:
            self._separator(token.text)
        else:
            self._finish()
            self._doubt("unexpected operator", token.text)

    def _separator(self, operator: str) -> None:
        complete = self._finish() or self._closed
        self._closed = False
        if operator == "\n":
            if complete:
                self._required = None
            return
        if not complete:
            self._doubt("nothing stands before", operator)
        if operator == "&":
            self._doubt("background job", "&", runs=False)
        self._required = operator if operator in _NEED_A_COMMAND else None

    def _open(self, token: LexToken, following: LexToken | None) -> None:
        if not self._draft.empty or self._closed:
            self._finish()
            self._doubt("function or pattern", "(")
        elif following is not None and following.text == "(" and following.start == token.start + 1:
            self._doubt("arithmetic", "((")
        self.groups.append("(")
        self._required = "("

    def _close(self, opener: str, closer: str) -> None:
        if self.groups and self.groups[-1] == opener and self._required is None:
            self.groups.pop()
        else:
            self._doubt("unexpected operator", closer)
            self._required = None
        self._closed = True

    def _finish(self) -> bool:
        """End the simple command, if there is one."""
        if self._draft.empty:
            return False
        self.simple_commands.append(self._draft.simple(self.lexer.text))
        self._draft = _Draft()
        self._required = None
        return True


class _Draft:
    """A simple command while it is read."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.assigns: list[Word] = []
        self.redirects: list[Redirect] = []
        self.start = self.end = -1

    @property
    def empty(self) -> bool:
        return self.end < 0

    def extend(self, start: int, end: int) -> None:
        self.start = start if self.start < 0 else min(self.start, start)
        self.end = end

    def simple(self, text: str) -> SimpleCommand:
        opaque = [opacity for word in (*self.assigns, *self.words) for opacity in word.opaque]
        opaque += [opacity for redirect in self.redirects for opacity in _target_opacity(redirect)]
        opaque += [
            Opacity("assignment", word.raw, names_a_loader(word.raw))
            for word in self.assigns
            if not _inert(word)
        ]
        if self.words:
            opaque += _program_opacity(self.words[0])
        elif not self.assigns:
            opaque.append(Opacity("redirect without a command"))
        else:
            opaque += [Opacity("assignment", word.raw) for word in self.assigns if _inert(word)]
        raw = text[self.start : self.end]
        return SimpleCommand(
            tuple(self.words), tuple(self.assigns), tuple(self.redirects), raw, tuple(opaque)
        )


def _program_opacity(word: Word) -> list[Opacity]:
    if (
        HOLE in word.text
        or word.glob is not None
        or (word.opaque and word.opaque[0].what != "ANSI-C quoting")
    ):
        return [Opacity("command name that is not literal", word.raw, runs=True)]
    if not word.text:
        return [Opacity("empty command name", word.raw, runs=True)]
    return []


def _target_opacity(redirect: Redirect) -> tuple[Opacity, ...]:
    if redirect.op in ("<<", "<<-"):
        broken = "\n" in redirect.target.text
        return (
            (*redirect.target.opaque, Opacity("here-document delimiter of two lines"))
            if broken
            else (redirect.target.opaque)
        )
    if redirect.target.glob is not None and redirect.op != "<<<":
        return (*redirect.target.opaque, Opacity("wildcard in a redirect target", redirect.target.raw))
    return redirect.target.opaque


def _inert(word: Word) -> bool:
    assignment = _ASSIGNMENT.match(word.raw)
    if assignment is None or assignment.group(1) not in INERT_VARIABLES or assignment.group(0)[-2:] == "+=":
        return False
    value = word.text[assignment.end() :]
    allowed = _TIME_ZONE if assignment.group(1) == "TZ" else _INERT_VALUE
    return "[" not in assignment.group(0) and not word.opaque and allowed.fullmatch(value) is not None


def names_a_loader(assignment: str) -> bool:
    """Whether the variable decides which code a program loads, so that anything may run."""
    name = assignment.partition("=")[0].rstrip("+").upper()
    return name in ("PATH", "ENV", "BASH_ENV", "IFS", "PS4", "SHELL") or name.startswith(("LD_", "DYLD_"))
