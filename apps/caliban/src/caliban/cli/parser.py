"""From arguments to the options of a run, environment variables included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from caliban.cli.commands import LATER_COMMANDS, first_word
from caliban.cli.flag import MAX_DIGITS, Flag, Group, positive
from caliban.cli.formats import input_format, output_format
from caliban.cli.groups import GROUPS, LATER_FLAGS
from caliban.cli.lookalike import is_slash_command, lookalike
from caliban.cli.options import (
    ExtensionOptions,
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
from caliban.cli.plain import plain_values
from caliban.errors import UsageError
from caliban_common.near import did_you_mean
from caliban_common.text import one_line

if TYPE_CHECKING:
    from caliban.cli.subcommand import Subcommand


def parse(arguments: Sequence[str], environ: Mapping[str, str], groups: Sequence[Group] = GROUPS) -> Options:
    """The options of a run, environment variables included. Raises `UsageError`."""
    _refuse_later_flags(arguments)
    _refuse_lookalike(arguments)
    values = plain_values(arguments, groups)
    if values is None:
        from caliban.cli.help import build_parser

        values = vars(build_parser(groups).parse_args(list(arguments)))
    options = options_of(values, environ, groups)
    _check(options)
    return options


def _refuse_later_flags(arguments: Sequence[str]) -> None:
    for argument in arguments:
        name = argument.split("=", 1)[0]
        if argument == "--":
            return
        if name in LATER_FLAGS:
            raise UsageError(f"{name} is not available yet: {LATER_FLAGS[name]}")


def _refuse_lookalike(arguments: Sequence[str]) -> None:
    """Refuse a word that looks like a command: sent to the model, it would cost money."""
    word = first_word(arguments)
    if word is None or word.is_prompt:
        return
    text = word.text
    asks = f'to ask a model about it: caliban -p "{one_line(text, max_chars=60)} …"'
    if is_slash_command(text):
        return
    near = lookalike(text)
    if near in LATER_COMMANDS and near == text.lower():
        raise UsageError(
            f"there is no command {text!r} in this version", hint=f"{LATER_COMMANDS[near]}; {asks}"
        )
    if near is not None:
        from caliban.cli.foreign import WAYS

        ways = WAYS.get(text.lower())
        meant = f"did you mean caliban {near}?" if ways is None else f"here that is {ways};"
        raise UsageError(f"there is no command {text!r}", hint=f"{meant} {asks}")


def parse_command(
    command: Subcommand, arguments: Sequence[str], environ: Mapping[str, str]
) -> tuple[Options, Mapping[str, Any]]:
    """The options among a command's flags that a run has too, and the values of all. Raises `UsageError`."""
    from caliban.cli.help import command_parser

    try:
        parser = command_parser(command)
        # Two that take words may have flags between them, which argparse only allows where it is asked to.
        several = sum(flag.is_positional for flag in command.flags) > 1
        parse = parser.parse_intermixed_args if several else parser.parse_args
        values = vars(parse(list(arguments)))
    except UsageError:
        if not command.discreet:
            raise
        behind = " -- " in command.usage and "--" not in arguments
        raise UsageError(
            f"caliban {command.name} does not take these arguments"
            f"{'; flags of a command of yours stand behind --' if behind else ''}",
            hint=f"caliban {command.line}",
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
        extensions=ExtensionOptions(**fields["extensions"]),
        settings=SettingsOptions(**fields["settings"]),
    )


def _said(group: Group, values: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """The values of a group from flags and environment; what was not given is left out."""
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
    """The flag's `value`, combined with its environment variable."""
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
        return _positive(row.variable, text) if row.how.get("type") is positive else text
    if text not in row.among:
        raise UsageError(
            f"{row.variable}: unknown permission mode {text!r}",
            hint=" ".join(filter(None, (did_you_mean(text, row.among), f"one of {', '.join(row.among)}"))),
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
    if options.session.everywhere and not options.session.continue_session:
        raise UsageError("--all says which sessions --continue looks at", hint="caliban --continue --all")
    if options.session.mirror and options.session.no_save:
        raise UsageError("--mirror needs a session that is saved: leave --no-save out")
    _check_output(options.output)
    if input_format(options.output.input_format).is_framed:
        _check_frames(options.prompt)
    if rules.answers or rules.defer_approvals:
        _check_later(options)
    if rules.permission_prompt_tool is not None:
        _check_asked(rules.permission_prompt_tool, options)


def _check_later(options: Options) -> None:
    """Refuse answers without a session or beside a prompt, and deferred calls that nobody could find."""
    rules, session = options.permissions, options.session
    flags = "--approve and --reject" if rules.answers else "--defer-approvals"
    if session.no_save:
        raise UsageError(f"{flags} need a session that is saved: leave --no-save out")
    if session.record is not None:
        raise UsageError(f"--record cannot keep answers that come later: leave it or {flags} out")
    if rules.permission_prompt_tool is not None:
        raise UsageError(f"{flags} contradict --permission-prompt-tool, whose answers come at once")
    if input_format(options.output.input_format).is_framed:
        raise UsageError(f"{flags} are for one prompt, and --input-format stream-json brings several")
    if not rules.answers:
        return
    if session.fork_session or (session.resume is None and not session.continue_session):
        raise UsageError(
            f"{flags} answer for a call that waits in a session", hint="caliban -r SESSION -p --approve CALL"
        )
    prompt = options.prompt
    if prompt.is_given or prompt.print_prompt or prompt.images:
        raise UsageError(f"{flags} stand in the place of a prompt: leave the prompt out")


def _check_asked(name: str, options: Options) -> None:
    """Refuse a --permission-prompt-tool that cannot be asked."""
    if options.session.record is not None:
        raise UsageError("--record cannot keep what --permission-prompt-tool answers: leave one of them out")
    if name.startswith("mcp__"):
        return
    if name != "stdio":
        raise UsageError(
            f"--permission-prompt-tool {name!r} is nobody to be asked",
            hint="it can be stdio, or mcp__SERVER__TOOL",
        )
    framed = input_format(options.output.input_format).is_framed
    if not framed or not output_format(options.output.output_format).holds_notices:
        raise UsageError(
            "--permission-prompt-tool stdio asks in frames",
            hint="add --input-format stream-json --output-format stream-json",
        )


def _check_output(options: OutputOptions) -> None:
    """Refuse flags about frames for a format that has none."""
    if output_format(options.output_format).holds_notices:
        return
    for name in (
        "include_partial_messages",
        "include_dispatch_events",
        "include_hook_events",
        "replay_user_messages",
    ):
        if getattr(options, name):
            written = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{written} speaks of frames, and {output_format(options.output_format).name} has none",
                hint=f"{written} --output-format stream-json",
            )


def _check_session(options: SessionOptions) -> None:
    """Allow one session to continue; a fork needs one to start from, and may be named."""
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
    if options.images:
        raise UsageError("--image belongs to a prompt, and --input-format stream-json reads its prompts")
    texts = [text for text in (options.print_prompt, options.prompt_flag, options.prompt) if text]
    if any(text != "-" for text in texts):
        raise UsageError(
            "--input-format stream-json reads its prompts from standard input",
            hint="leave the prompt out, or give - for it",
        )
