"""From arguments to the options of a run, environment variables included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caliban.cli.groups import GROUPS, LATER, LATER_COMMANDS, MAX_DIGITS, Flag, Group
from caliban.cli.help import build_parser
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


def parse(arguments: Sequence[str], environ: Mapping[str, str]) -> Options:
    """The options of a run, environment variables included. Raises `UsageError`."""
    if arguments and arguments[0] in LATER_COMMANDS:
        word = arguments[0]
        raise UsageError(
            f"there is no command {word!r} in this version",
            hint=f'to ask a model about it: caliban -p "{word} …"',
        )
    for argument in arguments:
        name = argument.split("=", 1)[0]
        if argument == "--":
            break
        if name in LATER:
            raise UsageError(f"{name} is not available yet: {LATER[name]}")
    values = vars(build_parser().parse_args(list(arguments)))
    printed = values["print_prompt"]
    fields = {group.name: _said(group, values, environ) for group in GROUPS if group.name}
    fields["output"].pop("print_prompt", None)
    options = Options(
        prompt=PromptOptions(**fields["prompt"], print_prompt=None if printed is True else printed),
        output=OutputOptions(**fields["output"], print_flag=printed is not None),
        session=SessionOptions(**fields["session"]),
        model=ModelOptions(**fields["model"]),
        workspace=WorkspaceOptions(**fields["workspace"]),
        system=SystemOptions(**fields["system"]),
        permissions=PermissionOptions(**fields["permissions"]),
        settings=SettingsOptions(**fields["settings"]),
    )
    _check(options)
    return options


def _said(group: Group, values: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """What flags and environment say of a group; what nobody said is left out, for its default."""
    merged = {flag.field: _with_variable(flag, values[flag.field], environ) for flag in group.flags}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in merged.items()
        if value is not None
    }


def _with_variable(flag: Flag, value: Any, environ: Mapping[str, str]) -> Any:
    """The flag's `value`, and what its variable in the environment says to it."""
    text = environ.get(flag.variable, "") if flag.variable else ""
    if not text:
        return value
    if flag.variable_first:
        return text
    if flag.is_switch:
        return value or _switched_on(flag.variable, text)
    if value is not None:
        return value
    if not flag.among:
        return _positive(flag.variable, text)
    if text not in flag.among:
        raise UsageError(
            f"{flag.variable}: unknown permission mode {text!r}", hint=f"one of {', '.join(flag.among)}"
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
    if options.output.input_format == "stream-json":
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
    said = [text for text in (options.print_prompt, options.prompt_flag, options.prompt) if text]
    if any(text != "-" for text in said):
        raise UsageError(
            "--input-format stream-json reads its prompts from standard input",
            hint="leave the prompt out, or give - for it",
        )
