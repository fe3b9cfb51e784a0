"""The grammar: lists, pipelines, groups, conditions and loops of simple commands with redirects.

Functions, `case`, most of `[[`, arithmetic commands and whatever else bash knows are doubts about the whole
line. The simple commands of a doubtful line are a best guess, good enough for deny rules only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from caliban_common.lazy import lazy_pattern
from caliban_permissions.characters import MAX_CHECKED_CHARS, hidden_character
from caliban_permissions.shell.conditional import CLOSER, OPENER, as_test
from caliban_permissions.shell.draft import Draft, target_opacity
from caliban_permissions.shell.lex import Lexer, LexToken
from caliban_permissions.shell.line import Opacity, ParsedLine, Piece, Redirect, Word
from caliban_permissions.shell.reserved import RESERVED
from caliban_permissions.shell.values import MAX_DEPTH, Bindings, settle
from caliban_permissions.shell.variables import ASSIGNMENT, harmless

_SEPARATORS = frozenset({";", "&", "&&", "||", "|", "|&", "\n"})
_NEED_A_COMMAND = frozenset({"&&", "||", "|", "|&"})
_PIPES = ("|", "|&")
_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_LOOPS = ("while", "until")
_STEPS: Mapping[str, tuple[tuple[str, str], str]] = {
    "then": (("if", "condition"), "body"),
    "elif": (("if", "body"), "condition"),
    "else": (("if", "body"), "last"),
    "do": (("loop", "condition"), "body"),
}
"""For each word inside a construct: where it may stand, and what follows it."""

_ENDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "fi": (("if", "body"), ("if", "last")),
    "done": (("loop", "body"),),
    "}": (("{", ""),),
    ")": (("(", ""),),
}


def parse_line(text: str, depth: int = 0, known: Bindings | None = None) -> ParsedLine:
    """Read a command. Total and linear: it raises nothing and looks at each character a few times.

    A substitution is read at its own `depth`, with the variables that are `known` where it stands.
    """
    doubts: list[Opacity] = []
    hidden = hidden_character(text)
    if hidden is not None:
        doubts.append(Opacity("hidden character", hidden, runs=True))
    if len(text) > MAX_CHECKED_CHARS:
        doubts.append(Opacity(f"length above {MAX_CHECKED_CHARS} characters", runs=True))
        return ParsedLine(text, (), (), tuple(doubts))
    return _Parser(Lexer(text).run(), doubts, depth, known or {}).parse()


@lru_cache(maxsize=128)
def read_line(text: str) -> ParsedLine:
    """`parse_line` of a whole command: gate, sandbox and log of one call ask for the same one by turns."""
    return parse_line(text)


class _Parser:
    """`_required` is the operator that still waits for a command; `_closed` holds right after a group.

    `_header` says what of `for NAME in WORDS` comes next; `_timed` holds right after `time`; `_test` has the
    words since `[[`, and `_tested` holds right after `]]`.
    """

    def __init__(self, lexer: Lexer, doubts: list[Opacity], depth: int, known: Bindings) -> None:
        self.lexer = lexer
        self.doubts = doubts + lexer.doubts
        self.depth = depth
        self.pieces: list[Piece | Draft] = []
        self.group_redirects: list[Redirect] = []
        self.groups: list[_Group] = []
        self.known = dict(known)
        self.assigned: list[str] = list(known)
        self._required: str | None = None
        self._closed = False
        self._timed = False
        self._separated = ";"
        self._header = ""
        self._variable = ""
        self._values: list[Word] = []
        self._test: list[Word] = []
        self._tested = False
        self._draft = Draft()

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
        if self._test:
            self._close_test()
        self._finish()
        if self._required is not None:
            self._doubt("nothing follows", self._required)
        if self._header:
            self._doubt("control flow", "for")
        if self.groups:
            self._doubt("unclosed group", self.groups[-1].opener)
        return self._settled()

    def _settled(self) -> ParsedLine:
        text = self.lexer.text
        settled = settle(self.pieces, self.assigned, self._inner, text)
        simple_commands, pieces, more = settled
        if not simple_commands and not self.doubts:
            self._doubt("no command")
        doubts = (*self.doubts, *more)
        return ParsedLine(text, simple_commands, tuple(self.group_redirects), doubts, pieces)

    def _inner(self, script: str, known: Bindings) -> ParsedLine | None:
        return None if self.depth >= MAX_DEPTH else parse_line(script, self.depth + 1, known)

    def _doubt(self, what: str, text: str = "", *, runs: bool = True) -> None:
        self.doubts.append(Opacity(what, text, runs))

    def _word(self, word: Word) -> None:
        if self._header:
            self._header_word(word)
            return
        if self._test:
            self._test.append(word)
            if word.raw == CLOSER:
                self._close_test()
            return
        if self._closed or self._tested:
            self._doubt("a word after a group", word.raw)
            self._closed = self._tested = False
        if self._draft.empty and (self._option_of_time(word) or self._reserved(word)):
            return
        if self._timed and not self._draft.words and word.text.startswith("-"):
            # Printed, its redirects stand behind it: it would be an option.
            self._doubt("control flow", f"time {word.raw}")
        if not self._draft.words and ASSIGNMENT.match(word.raw):
            self._draft.assigns.append(word)
        else:
            self._draft.words.append(word)
        self._draft.extend(word.start, word.end)

    def _option_of_time(self, word: Word) -> bool:
        """Take `-p` and `--` after the reserved word `time`; another option there has two readings."""
        if not self._timed:
            return False
        option = word.raw in ("-p", "--")
        self._timed = word.raw == "-p"
        if option:
            self.pieces.append(word.raw)
        elif word.text.startswith("-"):
            self._doubt("control flow", f"time {word.raw}")
        return option

    def _reserved(self, word: Word) -> bool:
        """Take a reserved word at the start of a command; false for an ordinary word."""
        raw = word.raw
        if raw == "!":
            if self._required in _PIPES:
                self._doubt("unexpected operator", "!")
            self._begin("!")
        elif raw == "time" and self._required not in _PIPES:
            self._begin("time")
            self._timed = True
        elif raw == "{":
            self._begin("{", _Group("{", "{"))
        elif raw == "if":
            self._begin("if", _Group("if", "if", "condition"))
        elif raw in _LOOPS:
            self._begin(raw, _Group("loop", raw, "condition"))
        elif raw == "for":
            self._header = "name"
            self.pieces.append("for")
        elif raw in _STEPS:
            self._step(raw)
        elif raw == OPENER:
            self._test.append(word)
        elif raw in _ENDS:
            self._close(raw)
        elif raw in RESERVED and raw != "in" and not (raw == "time" and self._required in _PIPES):
            self._doubt("control flow", raw, runs=raw == "function")
            self._required = None
        else:
            return False
        return True

    def _close_test(self) -> None:
        """Take what stands since `[[` as words of `[`, or as a doubt and a command of what follows it."""
        words, self._test = self._test, []
        test = as_test(words) if words[-1].raw == CLOSER else None
        self._tested = test is not None
        if test is None:
            self._doubt("control flow", OPENER, runs=False)
            self._required = None
            test = tuple(words[1:])
        self._draft.words.extend(test)
        for word in test:
            self._draft.extend(word.start, word.end)

    def _begin(self, word: str, group: _Group | None = None) -> None:
        """Note a word after which a command must come, and the construct that it opens."""
        self.pieces.append(word)
        self._required = word
        if group is not None:
            self.groups.append(group)

    def _step(self, word: str) -> None:
        place, following = _STEPS[word]
        group = self.groups[-1] if self.groups else None
        if group is None or (group.kind, group.state) != place or self._required is not None:
            self._doubt("control flow", word)
        else:
            group.state = following
        self._begin(word)

    def _header_word(self, word: Word) -> None:
        raw = word.raw
        match self._header:
            case "name" if _NAME.fullmatch(raw) and harmless(raw, None):
                self._variable, self._header = raw, "in"
                self.pieces.append(raw)
            case "in" if raw == "in":
                self._values, self._header = [], "values"
                self.pieces.append("in")
            case "values":
                self._values.append(word)
                self.pieces.append(word)
            case "do" if raw == "do":
                values = tuple(self._values)
                self.groups.append(_Group("loop", "for", "body", self._variable, values))
                self.assigned.append(self._variable)
                self._header = ""
                self._begin("do")
            case _:
                self._broken_header()
                self._word(word)

    def _broken_header(self) -> None:
        self._doubt("control flow", "for")
        self._header = ""

    def _redirect(self, token: LexToken, index: int, target: Word | None) -> None:
        if self._test:
            self._close_test()
        if self._header:
            self._broken_header()
        if target is None:
            self._doubt("a redirect without a target", token.text)
            return
        redirect = Redirect(token.text, target, token.descriptor, self.lexer.bodies.get(index))
        if self._closed:
            self.group_redirects.append(redirect)
            self.pieces.append(redirect)
            self.doubts.extend(target_opacity(redirect))
            return
        self._draft.redirects.append(redirect)
        self._draft.extend(token.start - len(token.descriptor), target.end)

    def _operator(self, token: LexToken, following: LexToken | None) -> None:
        if self._test:
            self._close_test()
        if self._header:
            self._header_operator(token.text)
            if self._header:
                return
        if token.text == "(":
            self._open(token, following)
        elif token.text == ")":
            self._finish()
            self._close(")")
        elif token.text in _SEPARATORS:
            self._separator(token.text)
        else:
            self._finish()
            self._doubt("unexpected operator", token.text)

    def _header_operator(self, operator: str) -> None:
        if operator in (";", "\n") and self._header == "values":
            self._header = "do"
            self.pieces.append(operator)
        elif operator == "\n" and self._header == "do":
            self.pieces.append(operator)
        else:
            self._broken_header()

    def _separator(self, operator: str) -> None:
        draft = self._draft
        complete = self._finish() or self._closed
        if complete:
            self._learn(draft, operator)
        self._closed = False
        self.pieces.append(operator)
        if operator == "\n":
            if complete:
                self._required = None
                self._separated = operator
            return
        if not complete:
            self._doubt("nothing stands before", operator)
        self._required = operator if operator in _NEED_A_COMMAND else None
        self._separated = operator

    def _learn(self, draft: Draft, operator: str) -> None:
        """Know the variable of an assignment that surely happens before what follows."""
        sure = not self.groups and self._separated in (";", "\n", "&") and operator in (";", "\n", "&&")
        if sure and draft.only_assigns and not draft.marked:
            self.known.update((name, (value,)) for name, value in draft.values())

    def _open(self, token: LexToken, following: LexToken | None) -> None:
        if not self._draft.empty or self._closed:
            self._finish()
            self._doubt("function or pattern", "(")
        elif following is not None and following.text == "(" and following.start == token.start + 1:
            self._doubt("arithmetic", "((")
        self._begin("(", _Group("(", "("))

    def _close(self, closer: str) -> None:
        group = self.groups[-1] if self.groups else None
        if group is not None and (group.kind, group.state) in _ENDS[closer] and self._required is None:
            self.groups.pop()
        else:
            self._doubt("unexpected operator" if closer in ")}" else "control flow", closer)
            self._required = None
        self.pieces.append(closer)
        self._closed = True

    def _finish(self) -> bool:
        """End the simple command, if there is one."""
        self._timed = self._tested = False
        if self._draft.empty:
            return False
        self._draft.place(self.known, self.groups, marked=self._required in ("!", "time"))
        self.assigned += (name for name in self._draft.names())
        self.pieces.append(self._draft)
        self._draft = Draft()
        self._required = None
        return True


class _Group:
    """A construct that is open: its kind, the word that opened it, and which part of it is being read."""

    def __init__(
        self, kind: str, opener: str, state: str = "", variable: str = "", values: tuple[Word, ...] = ()
    ) -> None:
        self.kind = kind
        self.opener = opener
        self.state = state
        self.variable = variable
        self.values = values
