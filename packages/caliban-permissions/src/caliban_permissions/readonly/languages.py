"""Programs with a language of their own: `sed`, `awk`, `jq`, `test` and `printf`."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from caliban_common.lazy import lazy_pattern
from caliban_permissions.readonly.options import OptionGrammar, read_arguments
from caliban_permissions.readonly.reads import NOTHING, Reads
from caliban_permissions.shell import HOLE
from caliban_permissions.side_effects.awk import awk_evidence
from caliban_permissions.side_effects.sed import prints_only

_SED = OptionGrammar(
    "nErsuz",
    "e",
    "quiet silent regexp-extended null-data zero-terminated unbuffered posix sandbox separate",
    "expression",
    operands="script",
)
_AWK_REACHES_OUT = lazy_pattern(
    r"ARGV|ARGC|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|@|textdomain|getline|system|/dev/|nextfile"
)
_ASSIGNS = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*=")
_JQ = OptionGrammar(
    "rcsSenaCMjR",
    "",
    "raw-output raw-output0 raw-input compact-output slurp sort-keys exit-status null-input ascii-output "
    "color-output monochrome-output join-output tab seq stream unbuffered",
    "indent",
    operands="script",
)
_JQ_REACHES_OUT = lazy_pattern(
    r"(?<!\.)\bENV\b|(?<![.\w])env\b|\binclude\b|\bimport\b|\bmodulemeta\b|\$__prog|get_search_list"
)
_SETS = lazy_pattern(r"%[^A-Za-z%\\]*[hjlLtz]*n")
_JQ_PAIRS = frozenset({"--arg", "--argjson"})
_UNARY = frozenset("-e -f -d -r -w -x -s -L -h -S -p -b -c -u -g -k -n -z -t -O -G -N".split())
_FILE_TESTS = _UNARY - {"-n", "-z", "-t"}
_BINARY = frozenset("= == != -eq -ne -lt -le -gt -ge < > -nt -ot -ef".split())


def sed_reads(words: tuple[str, ...]) -> Reads | None:
    """`sed` with scripts that only print."""
    arguments = read_arguments(words, _SED)
    if arguments is None or arguments.late:
        return None
    scripts = [value for _, value in arguments.values]
    operands = arguments.operands
    if not scripts:
        scripts, operands = [*operands[:1]], operands[1:]
    safe = scripts and all(HOLE not in script and prints_only(script) for script in scripts)
    return Reads(files=operands) if safe else None


def awk_reads(words: tuple[str, ...]) -> Reads | None:
    """`awk` with a program in its arguments that only prints."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        if words[at][:2] not in ("-F", "-v") or words[at].startswith("--"):
            return None
        at += 1 + (len(words[at]) == 2)
    at += words[at : at + 1] == ("--",)
    if at >= len(words) or HOLE in words[at] or _AWK_REACHES_OUT.search(words[at]):
        return None
    operands = words[at + 1 :]
    unclear = any(_ASSIGNS.match(word) or word.startswith("-") for word in operands)
    return None if unclear or awk_evidence(("awk", *words)) else Reads(files=operands)


def jq_reads(words: tuple[str, ...]) -> Reads | None:
    """`jq` with a filter that looks at nothing but its input."""
    kept: list[str] = []
    at = 0
    while at < len(words):
        if words[at] in _JQ_PAIRS and at + 2 < len(words):
            at += 2
        else:
            kept.append(words[at])
        at += 1
    arguments = read_arguments(kept, _JQ)
    if arguments is None or arguments.late or not arguments.operands:
        return None
    program, *files = arguments.operands
    safe = HOLE not in program and _JQ_REACHES_OUT.search(program) is None
    return Reads(files=tuple(files)) if safe else None


def test_reads(words: tuple[str, ...]) -> Reads | None:
    """`test` and `[` in their plain forms: a value, a test of one, or a comparison of two."""
    words = words[:-1] if words[-1:] == ("]",) else words
    if words[:1] == ("!",):
        words = words[1:]
    match words:
        case (word,) if not word.startswith("-"):
            return NOTHING
        case (test, value) if test in _UNARY:
            return Reads(places=(value,)) if test in _FILE_TESTS else NOTHING
        case (left, operator, right) if operator in _BINARY and left not in ("!", "("):
            return Reads(places=(left, right)) if operator in ("-nt", "-ot", "-ef") else NOTHING
        case _:
            return None


def printf_reads(words: tuple[str, ...]) -> Reads | None:
    """`printf` with a format of its own, which is no option and sets no variable: `%n` does."""
    words = words[1:] if words[:1] == ("--",) else words
    if not words or words[0].startswith(("-", HOLE)) or _SETS.search(words[0]):
        return None
    known = HOLE not in words[0] or (len(words) == 1 and 2 * HOLE not in words[0])
    return NOTHING if known else None
