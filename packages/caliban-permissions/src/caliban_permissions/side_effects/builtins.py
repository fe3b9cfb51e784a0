"""Rows for what bash itself runs: re-evaluation of data, and changes of its own state."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from caliban_permissions.side_effects.row import RUNS, Evidence, everything

STATE = "changes the shell that runs the rest of the command"
EVALUATES = "evaluates its arguments again"

_EVALUATING = frozenset(
    "eval source . let read declare typeset local export readonly unset mapfile readarray compgen complete "
    "compopt trap getopts wait [[ (( time coproc fc history bind exec builtin enable jobs".split()
)
_STATE = frozenset(
    "set shopt alias unalias hash umask ulimit pushd popd dirs disown suspend logout exit return break "
    "continue shift times caller bg fg help".split()
)
_HARMLESS_STATE = frozenset("exit return break continue times help".split())


def builtin_evidence(argv: tuple[str, ...]) -> list[Evidence]:
    """Evidence for a builtin that must be allowed by its whole text or not at all."""
    name = argv[0]
    if name in _EVALUATING:
        return [everything(argv, EVALUATES)]
    if name in _STATE and name not in _HARMLESS_STATE:
        return [everything(argv, STATE)]
    if name in ("test", "[") and any(word in ("-v", "-R") for word in argv[1:]):
        return [everything(argv, EVALUATES)]
    if name == "printf" and any(word.startswith("-v") for word in argv[1:]):
        return [everything(argv, EVALUATES)]
    if name == "command" and not any(word in ("-v", "-V") for word in argv[1:2]):
        return [everything(argv, RUNS)]
    return []
