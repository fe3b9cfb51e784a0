"""From arguments to the options of a run, environment variables included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caliban.cli.commands import LATER_COMMANDS, Subcommand
from caliban.cli.flag import MAX_DIGITS, Flag, Group
from caliban.cli.formats import input_format
from caliban.cli.groups import GROUPS, LATER_FLAGS
from caliban.cli.help import build_parser, command_parser
from caliban.cli.options import (
    ModelOptions,
    Options,
    OutputOptions,
    PermissionOptions,
    PromptOptions,
    SessionOptions,
    SettingsOptions,
    SystemOptions,
    WorkspaceOptions,
)
from caliban.errors import UsageError


def parse(arguments: Sequence[str], environ: Mapping[str, str], groups: Sequence[Group] = GROUPS) -> Options:
    """The options of a run, environment variables included. Raises `UsageError`."""
    if arguments and arguments[0] in LATER_COMMANDS:
        word = arguments[0]
        raise UsageError(
            f"there is no command {word!r} in this version",
            hint=f'{LATER_COMMANDS[word]}; to ask a model about it: caliban -p "{word} …"',
        )
    for argument in arguments:
        name = argument.split("=", 1)[0]
        if argument == "--":
            break
        if name in LATER_FLAGS:
            raise UsageError(f"{name} is not available yet: {LATER_FLAGS[name]}")
    values = vars(build_parser(groups).parse_args(list(arguments)))
    options = options_of(values, environ, groups)
    _check(options)
    return options


def parse_command(
    command: Subcommand, arguments: Sequence[str], environ: Mapping[str, str]
) -> tuple[Options, Mapping[str, Any]]:
    """The options among a command's flags that a run has too, and the values of all. Raises `UsageError`."""
    try:
        values = vars(command_parser(command).parse_args(list(arguments)))
    except UsageError:
        if not command.discreet:
            raise
        raise UsageError(
            f"caliban {command.name} does not take these arguments", hint=f"caliban {command.line}"
        ) from None
    return options_of(values, environ), values


def options_of(
    values: Mapping[str, Any], environ: Mapping[str, str], groups: Sequence[Group] = GROUPS
) -> Options:
    """The options in what was parsed, with what the environment says. Raises `UsageError`."""
    fields = {group.name: _said(group, values, environ) for group in groups if group.name}
    printed = fields["output"].pop("print_prompt", None)
    return Options(
        prompt=PromptOptions(**fields["prompt"], print_prompt=None if printed is True else printed),
        output=OutputOptions(**fields["output"], print_flag=printed is not None),
        session=SessionOptions(**fields["session"]),
        model=ModelOptions(**fields["model"]),
        workspace=WorkspaceOptions(**fields["workspace"]),
        system=SystemOptions(**fields["system"]),
        permissions=PermissionOptions(**fields["permissions"]),
        settings=SettingsOptions(**fields["settings"]),
    )


def _said(group: Group, values: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """What flags and environment say of a group; what nobody said is left out, for its default."""
    merged = {
        row.field: _with_variable(row, values[row.field], environ)
        for row in group.flags
        if row.field in values
    }
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in merged.items()
        if value is not None
    }


def _with_variable(row: Flag, value: Any, environ: Mapping[str, str]) -> Any:
    """The flag's `value`, and what its variable in the environment says to it."""
    text = environ.get(row.variable, "") if row.variable else ""
    if not text:
        return value
    if row.variable_first:
        return text
    if row.is_switch:
        return value or _switched_on(row.variable, text)
    if value is not None:
        return value
    if not row.among:
        return _positive(row.variable, text)
    if text not in row.among:
        raise UsageError(
            f"{row.variable}: unknown permission mode {text!r}", hint=f"one of {', '.join(row.among)}"
        )
    return text


def _switched_on(name: str, text: str) -> bool:
    """Whether an environment variable says yes. A doubtful word could loosen what runs: it is refused."""
    word = text.strip().lower()
    if word in ("", "0", "false", "no", "off", "n", "f"):
        return False
    if word in ("1", "true", "yes", "on", "y", "t"):
        return True
    raise UsageError(f"{name} must be 1 or 0, not {text!r}")


def _positive(name: str, text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS and int(text) > 0:
        return int(text)
    raise UsageError(f"{name} must be a whole number above 0, not {text!r}")


def _check(options: Options) -> None:
    """Refuse flags that contradict each other."""
    system, rules = options.system, options.permissions
    systems = [system.system is not None, system.system_file is not None, system.no_system]
    if sum(systems) > 1:
        raise UsageError("--system, --system-file and --no-system exclude each other")
    _check_session(options.session)
    ruled = rules.allow or rules.deny or rules.ask or rules.auto_allow
    if rules.no_permissions and ruled:
        raise UsageError(
            "--no-permissions contradicts --allow, --deny, --ask and --auto-allow",
            hint="CALIBAN_NO_PERMISSIONS and CALIBAN_AUTO_ALLOW count as their flags",
        )
    if input_format(options.output.input_format).is_framed:
        _check_frames(options.prompt)


def _check_session(options: SessionOptions) -> None:
    """One session is continued; a fork has one to begin with, and may have a name."""
    old = [options.continue_session, options.resume is not None]
    if options.fork_session:
        if sum(old) != 1:
            raise UsageError(
                "--fork-session needs one session to fork: --resume NAME or --continue",
                hint="caliban -r OLD --fork-session [--session NEW]",
            )
        if options.resume is not None and options.session == options.resume:
            raise UsageError(
                f"--fork-session needs a name that is not that of the old session {options.resume!r}"
            )
    elif sum((*old, options.session is not None)) > 1:
        raise UsageError(
            "--continue, --resume and --session exclude each other",
            hint="with --fork-session, --session names the new session",
        )


def _check_frames(options: PromptOptions) -> None:
    """With stream-json input the prompts are frames: another prompt would bypass their parser."""
    texts = [text for text in (options.print_prompt, options.prompt_flag, options.prompt) if text]
    if any(text != "-" for text in texts):
        raise UsageError(
            "--input-format stream-json reads its prompts from standard input",
            hint="leave the prompt out, or give - for it",
        )
