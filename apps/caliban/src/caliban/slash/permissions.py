"""Commands about what tools may do."""

from __future__ import annotations

from typing import Final, get_args

from caliban.compose.app import App
from caliban.compose.project import STATE_WORDS
from caliban_commands.answer import CommandAnswer, OpenView, ShownTable, ShownText
from caliban_commands.builtin.session import no_arguments
from caliban_commands.command import SlashContext
from caliban_commands.errors import BadArguments, CommandError
from caliban_common.near import did_you_mean
from caliban_common.permission import PermissionMode
from caliban_common.text import one_line

MODES: Final[tuple[PermissionMode, ...]] = tuple(
    mode for mode in get_args(PermissionMode) if mode != "disabled"
)
"""Those that a person may choose."""


async def permissions(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Show the mode, the modes barred and the rules in order; or switch to another mode."""
    rules = app.permissions
    if arguments:
        return CommandAnswer.of(_switch(app, arguments))
    barred = [mode for mode in MODES if rules.bars_mode(mode) is not None]
    head = [f"mode: {rules.mode}"]
    head += [f"not open to this run: {', '.join(barred)}"] if barred else []
    rows = tuple(_rows(app)) if rules.mode != "disabled" else ()
    table = ShownTable(
        columns=("", "Action", "Pattern", "From", ""),
        rows=rows,
        notes=() if rows else ("no rule is written: what reads runs, everything else is asked",),
    )
    return CommandAnswer(
        parts=(ShownText(markdown="\n".join(head)), table), effect=OpenView(view="permissions")
    )


def _rows(app: App) -> list[tuple[str, str, str, str, str]]:
    layers = app.permissions.engine.layers()
    rules = [(scope, rule) for scope, layer in layers for rule in layer]
    return [
        (
            str(number),
            rule.action,
            one_line(rule.pattern, max_chars=200),
            str(scope),
            one_line(rule.comment or "", max_chars=200),
        )
        for number, (scope, rule) in enumerate(rules, 1)
    ]


def _switch(app: App, word: str) -> str:
    mode = next((mode for mode in MODES if mode.lower() == word.lower()), None)
    if mode is None:
        modes = f"a mode is one of {', '.join(MODES)}; caliban perms changes rules"
        raise BadArguments(
            f"/permissions does not know {one_line(word, max_chars=60)!r}",
            hint=f"{did_you_mean(word, MODES)} {modes}".strip(),
        )
    why = app.permissions.bars_mode(mode)
    if why is not None:
        raise CommandError(f"the mode stays {app.permissions.mode}: {why}")
    app.permissions.set_mode(mode)
    return f"mode: {mode}"


async def plan(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Begin plan mode, or end it."""
    no_arguments("plan", arguments)
    why = app.permissions.bars_mode("plan")
    if why is not None:
        raise CommandError(f"the mode stays {app.permissions.mode}: {why}")
    app.board.set_plan_mode(not app.permissions.plan_mode)
    on = app.permissions.plan_mode
    return CommandAnswer.of("plan mode is on: nothing is changed" if on else f"mode: {app.permissions.mode}")


async def sandbox(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Try the sandbox and say whether it holds."""
    no_arguments("sandbox", arguments)
    from caliban.commands.boxed import sandbox_row

    assert app.live.inputs is not None, "the app is open"
    state, words = await sandbox_row(app.options.workspace, app.settings, app.workspace, app.live.inputs.host)
    return CommandAnswer.of(f"{ {'pass': '✓', 'warn': '!', 'fail': '✗'}[state] } {words}")


async def trust(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Show what the project supplies, and whether it is trusted."""
    no_arguments("trust", arguments)
    from caliban.commands.trust import look_at, shown_lines

    question = look_at(app.workspace)
    lines = [*shown_lines(question)]
    if app.live.read.trust.state != question.trust.state:
        lines.append(f"in this run: {STATE_WORDS[app.live.read.trust.state]}")
    if question.surface.asks and question.trust.state != "trusted":
        lines.append("caliban trust add trusts it, once you have looked at it")
    return CommandAnswer.of("\n".join(lines))
