"""Which arguments of a program are text by what the program is: a filter, a pattern, a message.

Only what is surely read so counts: each option in front of it is known, with what it takes, and no argument
is known only when it runs.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_permissions.commands.candidates import JQS
from caliban_permissions.commands.wrappers import inner_start, program
from caliban_permissions.shell import HOLE
from caliban_permissions.side_effects.awk import awk_evidence
from caliban_permissions.side_effects.row import WRITES
from caliban_permissions.side_effects.sed import sed_evidence

AWKS = frozenset("awk gawk mawk nawk original-awk".split())
_SEDS = frozenset({"sed", "gsed"})
_THROUGH = frozenset(
    "time gtime timeout gtimeout nice gnice ionice nohup gnohup setsid stdbuf gstdbuf".split()
)
"""Wrappers that do nothing else with what they run."""

_NAMES_INPUT = lazy_pattern(r"ARG[VC]|SYMTAB")
_NONE: frozenset[int] = frozenset()
_MAX_WRAPPERS = 8


class _Grammar(Struct, frozen=True, kw_only=True):
    """The options of a program as far as they are known, and which of its arguments are text.

    `flags` are the short options without a value, `names` the long ones. `takes` are those with values, short
    and long, with a letter for each value: `t` is text, `n` a number, `f` may be a file, `?` stands in the
    same word or nowhere. `first`: the first operand is text, unless one of `instead` stands anywhere.
    `permutes`: options count behind operands, whatever the environment says. `plain`: no value stands behind
    a `=`, and `--` is nothing special.
    """

    flags: str = ""
    names: str = ""
    takes: str = ""
    first: bool = True
    instead: str = ""
    permutes: bool = False
    plain: bool = False

    @property
    def values(self) -> Mapping[str, str]:
        """The kinds of values by the names of options."""
        return {name: kinds for name, _, kinds in (each.partition(":") for each in self.takes.split())}


_JQ = _Grammar(
    flags="nrjasSCMceRhVb",
    names="null-input raw-output raw-output0 join-output ascii-output slurp sort-keys color-output "
    "monochrome-output compact-output exit-status raw-input tab unbuffered stream stream-errors seq binary",
    takes="L:f indent:n arg:tt argjson:tt slurpfile:tf rawfile:tf argfile:tf",
    permutes=True,
    plain=True,
)
_GREP = _Grammar(
    flags="EFGPiyvwxzscLlqobHhnTuUZaIrR0123456789",
    names="extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case invert-match "
    "word-regexp line-regexp count files-with-matches files-without-match quiet silent no-messages "
    "only-matching byte-offset with-filename no-filename line-number initial-tab null null-data text "
    "recursive dereference-recursive binary line-buffered color colour",
    takes="e:t regexp:t f:f file:f m:n max-count:n A:n B:n C:n after-context:n before-context:n context:n "
    "D:f devices:f d:f directories:f include:f exclude:f exclude-dir:f exclude-from:f binary-files:f label:f "
    "color:f colour:f",
    instead="e regexp f file",
)
_RIPGREP = _Grammar(
    flags="ivwxnNclosSFLHIhpqzaUP0u.",
    names="ignore-case smart-case case-sensitive word-regexp line-regexp line-number no-line-number count "
    "count-matches files-with-matches files-without-match only-matching fixed-strings follow with-filename "
    "no-filename pretty quiet text multiline multiline-dotall pcre2 null hidden no-ignore no-ignore-vcs "
    "json trim vimgrep heading no-heading stats no-messages invert-match column no-config passthru "
    "unrestricted",
    takes="e:t regexp:t f:f file:f g:f glob:f iglob:f t:f type:f T:f type-not:f A:n B:n C:n after-context:n "
    "before-context:n context:n m:n max-count:n M:n max-columns:n d:f max-depth:n r:t replace:t color:f "
    "sort:f sortr:f j:n threads:n E:f encoding:f",
    instead="e regexp f file",
    permutes=True,
)
_GIT_GREP = _Grammar(
    flags="aIiwvhHEFGPnlLzocpWqr0123456789",
    names="cached untracked no-index exclude-standard text ignore-case word-regexp invert-match "
    "extended-regexp basic-regexp fixed-strings perl-regexp line-number files-with-matches name-only count "
    "break heading all-match quiet show-function function-context and or not recurse-submodules column "
    "only-matching full-name null",
    takes="e:t f:f A:n B:n C:n m:n max-count:n max-depth:n threads:n",
    instead="e f",
    permutes=True,
)
_LOG = _Grammar(
    flags="psuziEFP0123456789",
    names="oneline stat patch all graph decorate no-merges merges name-only name-status follow reverse "
    "abbrev-commit shortstat numstat first-parent no-patch regexp-ignore-case pickaxe-all pickaxe-regex "
    "branches tags cached staged word-diff color no-color",
    takes="S:t G:t grep:t author:t committer:t n:n max-count:n since:f until:f after:f before:f skip:n "
    "format:f pretty:f date:f diff-filter:f",
    first=False,
    permutes=True,
)
_COMMIT = _Grammar(
    flags="aqsvenpu",
    names="all amend no-edit no-verify signoff allow-empty allow-empty-message quiet verbose dry-run patch "
    "edit",
    takes="m:t message:t author:t date:t trailer:t F:f file:f C:f c:f t:f template:f fixup:f squash:f",
    first=False,
    permutes=True,
)
_TAG = _Grammar(
    flags="afs", names="annotate force sign", takes="m:t message:t F:f file:f", first=False, permutes=True
)
_GH = _Grammar(
    flags="dw",
    names="draft web fill fill-first prerelease latest generate-notes",
    takes="t:t title:t b:t body:t n:t notes:t l:t label:t a:t assignee:t r:t reviewer:t m:t milestone:t "
    "q:t jq:t json:f F:f body-file:f notes-file:f B:f base:f H:f head:f R:f repo:f L:n limit:n s:f state:f",
    first=False,
    permutes=True,
)
_GH_API = _Grammar(
    flags="i",
    names="include paginate slurp silent verbose",
    takes="q:t jq:t X:f method:f H:t header:t f:t raw-field:t F:f field:f input:f t:t template:t p:f "
    "preview:f",
    first=False,
    permutes=True,
)
_GRAMMARS: Mapping[tuple[str, str], _Grammar] = {
    **dict.fromkeys(((name, "") for name in JQS), _JQ),
    **dict.fromkeys(((name, "") for name in "grep egrep fgrep ggrep".split()), _GREP),
    ("rg", ""): _RIPGREP,
    ("git", "grep"): _GIT_GREP,
    **dict.fromkeys((("git", sub) for sub in "log show diff".split()), _LOG),
    ("git", "commit"): _COMMIT,
    ("git", "tag"): _TAG,
    **dict.fromkeys((("gh", sub) for sub in "pr issue release".split()), _GH),
    ("gh", "api"): _GH_API,
    **dict.fromkeys(
        ((name, "") for name in AWKS),
        _Grammar(takes="F:t v:t field-separator:t assign:t"),
    ),
    **dict.fromkeys(
        ((name, "") for name in _SEDS),
        _Grammar(
            flags="nErsuz",
            names="quiet silent regexp-extended null-data zero-terminated separate unbuffered posix sandbox "
            "in-place",
            takes="e:t expression:t f:f file:f i:? in-place:?",
            instead="e expression f file",
        ),
    ),
    ("cut", ""): _Grammar(
        flags="snz",
        names="complement only-delimited",
        takes="d:t delimiter:t f:f fields:f c:f characters:f b:f bytes:f output-delimiter:t",
        first=False,
    ),
    ("paste", ""): _Grammar(flags="sz", names="serial", takes="d:t delimiters:t", first=False),
    ("column", ""): _Grammar(flags="tx", takes="s:t separator:t o:t c:n", first=False),
}
"""By program and sub-command; one that is not here has no argument of which it is known."""


def texts(argv: tuple[str, ...]) -> frozenset[int]:
    """The places of the arguments that are surely text, whatever files there are."""
    if not argv or any(HOLE in word for word in argv):
        return _NONE
    outer = 0
    for _ in range(_MAX_WRAPPERS):
        start = inner_start(argv) if program(argv[0]) in _THROUGH else None
        if start is None:
            break
        argv, outer = argv[start:], outer + start
    return frozenset(outer + at for at in _texts(argv))


def _texts(argv: tuple[str, ...]) -> Iterable[int]:
    """The same for a command that no wrapper runs; a wrapper has no grammar here."""
    name = program(argv[0])
    if "/" in argv[0]:
        return ()
    skip = 2 if (name, "") not in _GRAMMARS else 1
    grammar = _GRAMMARS.get((name, "" if skip == 1 else "".join(argv[1:2])))
    if grammar is None or not _only_prints(argv):
        return ()
    reading = _Reading(grammar, argv, skip)
    return reading.places() if reading.known else ()


def _only_prints(argv: tuple[str, ...]) -> bool:
    """Whether what an argument says in a language of its own, as far as there is one, opens no file."""
    name = program(argv[0])
    if name in AWKS:
        return not awk_evidence(argv) and not any(map(_NAMES_INPUT.search, argv))
    return name not in _SEDS or all(item.why == WRITES for item in sed_evidence(argv))


class _Reading:
    """The arguments of a program by its grammar; `known` is false once one is met that it does not have."""

    def __init__(self, grammar: _Grammar, argv: tuple[str, ...], start: int) -> None:
        self.grammar = grammar
        self.argv = argv
        self.start = start
        self.values = grammar.values
        self.known = True
        self._texts: dict[int, None] = {}
        self._operand = 0
        self._instead = False
        self._read()

    def places(self) -> Iterator[int]:
        yield from self._texts
        if self.grammar.first and self._operand and not self._instead:
            yield self._operand

    def _read(self) -> None:
        at = self.start
        while self.known and at < len(self.argv):
            word = self.argv[at]
            if word == "--":
                self.known = not self.grammar.plain
                self._operand = self._operand or (at + 1 if at + 1 < len(self.argv) else 0)
                return
            if word.startswith("--"):
                at = self._long(at)
            elif word.startswith("-") and word != "-":
                at = self._short(at)
            else:
                self._operand = self._operand or at
                at += 1

    def _long(self, at: int) -> int:
        name, equals, _ = self.argv[at][2:].partition("=")
        kinds = self.values.get(name, "") if len(name) > 1 else ""
        if equals:
            self.known = len(kinds) == 1 and not self.grammar.plain
            return self._take(name, kinds, at, at + 1)
        # One that may have a value and need not has it behind a `=` alone.
        if len(name) > 1 and name in self.grammar.names.split():
            return at + 1
        return self._separate(name, kinds, at + 1)

    def _short(self, at: int) -> int:
        word = self.argv[at]
        for place, letter in enumerate(word[1:], start=2):
            kinds = self.values.get(letter, "")
            if kinds == "?":
                return at + 1
            if kinds and place < len(word):
                return self._take(letter, kinds, at, at + 1)
            if kinds:
                return self._separate(letter, kinds, at + 1)
            if letter not in self.grammar.flags:
                self.known = False
        return at + 1

    def _separate(self, option: str, kinds: str, first: int) -> int:
        """The place behind the values in the next words: none of them may look like an option."""
        values = self.argv[first : first + len(kinds)]
        plain = all(not value.startswith("-") for value in values)
        numbers = all(value.isdigit() for value, kind in zip(values, kinds, strict=False) if kind == "n")
        self.known = bool(kinds) and len(values) == len(kinds) and plain and numbers
        return self._take(option, kinds, first, first + len(kinds))

    def _take(self, option: str, kinds: str, first: int, following: int) -> int:
        self._instead = self._instead or option in self.grammar.instead.split()
        # Where options may end at the first operand, what stands behind one may be an operand as well.
        if self.grammar.permutes or not self._operand:
            self._texts.update((first + number, None) for number, kind in enumerate(kinds) if kind == "t")
        return following
