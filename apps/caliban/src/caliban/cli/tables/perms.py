"""The rows of `caliban perms` and its verbs."""

from __future__ import annotations

from typing import Final

from caliban.cli.flag import Flag, flag, positive, switch, words
from caliban.cli.groups import shared
from caliban.cli.subcommand import Subcommand
from caliban.cli.tables.rows import JSON_LINES, JSON_OBJECT, PLACE, WORKSPACE, verb_row

CALL_EXAMPLE: Final = '{"command": "git status"}'
SCOPES: Final = ("managed", "user", "project", "local", "cli")
ACTIONS: Final = ("allow", "ask", "deny")
FORMATS: Final = ("toml", "json")

_RULES: Final = tuple(
    shared(name)
    for name in (
        "--permission-mode",
        "--allow",
        "--deny",
        "--ask",
        "--auto-allow",
        "--no-permissions",
        "--allow-dangerously-skip-permissions",
        "--disable-auto-mode",
    )
)
_CALL: Final = (
    flag("tool", metavar="TOOL", help="such as Bash"),
    flag("input", metavar="JSON", nargs="?", help=f"such as {CALL_EXAMPLE}"),
)


def _scope(default: str | None, what: str) -> Flag:
    """The scope that a verb works on; the verb itself refuses an unknown one."""
    note = f"; default: {default}" if default else ""
    return flag(
        "--scope", metavar="SCOPE", default=default, among=SCOPES, help=f"{what}: {', '.join(SCOPES)}{note}"
    )


_VERBS: Final = (
    Subcommand(
        "perms list",
        "the rules that are written, or those that count",
        "caliban.commands.perms.rules:list_rules",
        flags=(
            switch("--effective", help="what counts in a run, in the order of evaluation, defaults included"),
            _scope(None, "only the rules of one scope"),
            JSON_LINES,
            *PLACE,
            *(row for row in _RULES if row.names[0] in ("--allow", "--deny", "--ask")),
        ),
        usage="[--effective] [--scope SCOPE]",
        description="List permission rules, numbered as remove --index takes them within one scope.",
    ),
    Subcommand(
        "perms test",
        "what the rules say to a call, or to every call of a file",
        "caliban.commands.perms.verdict:test",
        flags=(
            flag(
                "tool",
                metavar="TOOL|FILE",
                help="such as Bash, or a .toml file of calls",
            ),
            flag("input", metavar="JSON", nargs="?", help=f"such as {CALL_EXAMPLE}"),
            *PLACE,
            *_RULES,
        ),
        usage="TOOL [JSON] | FILE",
        description="Say what the permission rules decide about a call. Exit: 0 allow, 1 deny, 2 ask. "
        "Of a FILE (it ends in .toml and holds tables [[call]] with tool, input and expect): 0 when all "
        "are decided as expected, else 1.",
    ),
    Subcommand(
        "perms explain",
        "the same, with every rule that matched and why one won",
        "caliban.commands.perms.verdict:explain",
        flags=(*_CALL, JSON_OBJECT, *PLACE, *_RULES),
        usage="TOOL [JSON]",
        description="Say what the permission rules decide about a call, and why: leaf by leaf, with what "
        "cannot be read off it, every rule that matched, the mode and the guards. Exit: 0 allow, 1 deny, "
        "2 ask.",
    ),
    Subcommand(
        "perms add",
        "write a rule",
        "caliban.commands.perms.rules:add_rule",
        flags=(
            flag("pattern", metavar="PATTERN", type=words, help='such as "Bash:cargo *"'),
            flag("rule_action", metavar="ACTION", choices=ACTIONS, help=", ".join(ACTIONS)),
            _scope("project", "where to write it"),
            flag("--comment", metavar="TEXT", help="for people"),
            flag("--reason", metavar="TEXT", help="told to the model when the rule denies"),
            flag("--expires-at", metavar="WHEN", help="an allow ends then, such as 2027-01-01T00:00:00Z"),
            WORKSPACE,
        ),
        usage="PATTERN allow|ask|deny",
        description="Write a rule behind the others of its scope. One that matches nothing, or never counts, "
        "is refused. Exit: 1 when nothing was written.",
    ),
    Subcommand(
        "perms remove",
        "take a rule out",
        "caliban.commands.perms.rules:remove_rule",
        flags=(
            flag("--pattern", metavar="PATTERN", help="the rules with exactly this pattern"),
            flag("--index", metavar="N", type=positive, help="the rule of this number in list --scope SCOPE"),
            _scope("project", "where it is"),
            WORKSPACE,
        ),
        usage="--pattern PATTERN | --index N",
        description="Take a rule out of its file. Exit: 1 when there is none.",
    ),
    Subcommand(
        "perms import",
        "take over the rules of another file",
        "caliban.commands.perms.rules:import_rules",
        flags=(
            flag(
                "--from",
                metavar="PATH",
                required=True,
                dest="source",
                help="settings.json of Claude Code, .rules of Codex, .toml or .json of caliban",
            ),
            switch("--dry-run", help="write nothing"),
            _scope("user", "where to write them"),
            WORKSPACE,
        ),
        usage="--from FILE [--dry-run]",
        description="Write the rules of another file behind those of a scope. Each that has no equal is "
        "named. Exit: 1 when there is none to be had.",
    ),
    Subcommand(
        "perms export",
        "the rules of a scope as a file",
        "caliban.commands.perms.rules:export_rules",
        flags=(
            _scope("project", "whose rules"),
            flag(
                "--format",
                metavar="FORMAT",
                default="toml",
                among=FORMATS,
                help="toml or json; default: toml",
            ),
            WORKSPACE,
        ),
        usage="[--scope SCOPE] [--format toml|json]",
        description="Print the rules of a scope in order. Exit: 2 for another format.",
    ),
    Subcommand(
        "perms lint",
        "what is wrong with the rules",
        "caliban.commands.perms.rules:lint_rules",
        flags=(_scope(None, "only the rules of one scope"), WORKSPACE),
        usage="[--scope SCOPE]",
        description="Find rules that are invalid, match nothing, are there twice, never count or allow any "
        "program. Exit: 0 without a finding, else 1.",
    ),
    Subcommand(
        "perms audit",
        "what was decided about the calls of runs",
        "caliban.commands.perms.audit:audit",
        flags=(
            flag(
                "--since",
                metavar="WHEN",
                help="not before, such as 2026-06-01T00:00:00Z; without a zone it is UTC",
            ),
            flag("--tool", metavar="NAME", help="only this tool"),
            flag("--action", choices=ACTIONS, metavar="ACTION", help=", ".join(ACTIONS)),
            flag("--head", metavar="N", type=positive, help="only the N most recent"),
            switch("--json", help="one JSON object a line, as in the log"),
        ),
        usage="[--since WHEN] [--tool NAME] [--head N]",
        description="Print the log of decisions and its archives, oldest first.",
    ),
)

PERMS: Final = Subcommand(
    "perms",
    "permission rules: what they say to a call, changing them, what was decided",
    "caliban.commands.perms.verdict:perms",
    flags=(verb_row(_VERBS),),
    usage="VERB …",
    description="Permission rules: what they say to a call, and changing them.",
    needs_words=True,
    verbs=_VERBS,
)
