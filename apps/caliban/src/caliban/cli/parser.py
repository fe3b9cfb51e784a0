"""From arguments to the options of a run, environment variables included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caliban.cli.groups import LATER, LATER_COMMANDS, MAX_DIGITS, MODES
from caliban.cli.help import build_parser
from caliban.cli.options import Options
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
    namespace = build_parser().parse_args(list(arguments))
    values = vars(namespace)
    for name in ("help", "version", "without"):
        values.pop(name)
    for name in ("allow", "deny", "ask"):
        values[name] = tuple(values[name] or ())
    said = values["print_prompt"]
    values |= {"print_flag": said is not None, "print_prompt": None if said is True else said}
    options = Options(**_with_environment(values, environ))
    _check(options)
    return options


def _with_environment(values: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    switches = {
        "no_permissions": "CALIBAN_NO_PERMISSIONS",
        "auto_allow": "CALIBAN_AUTO_ALLOW",
        "disable_auto_mode": "CALIBAN_DISABLE_AUTO_MODE",
        "no_prompt_cache": "CALIBAN_NO_PROMPT_CACHE",
        "no_parallel_tools": "CALIBAN_NO_PARALLEL_TOOLS",
    }
    for name, variable in switches.items():
        values[name] = values[name] or _switched_on(variable, environ.get(variable, ""))
    numbers = {
        "parallel_tool_limit": "CALIBAN_PARALLEL_TOOL_LIMIT",
        "max_attach_bytes": "CALIBAN_MAX_ATTACH_BYTES",
        "attach_budget_bytes": "CALIBAN_ATTACH_BUDGET_BYTES",
    }
    for name, variable in numbers.items():
        text = environ.get(variable)
        if values[name] is None and text:
            values[name] = _positive(variable, text)
    defaults = {
        "max_attach_bytes": Options().max_attach_bytes,
        "attach_budget_bytes": Options().attach_budget_bytes,
    }
    for name, default in defaults.items():
        values[name] = default if values[name] is None else values[name]
    if values["permission_mode"] is None:
        values["permission_mode"] = _mode(environ.get("CALIBAN_DEFAULT_PERMISSION_MODE"))
    values["provider"] = environ.get("CALIBAN_PROVIDER") or values["provider"]
    return values


def _mode(text: str | None) -> str | None:
    if text and text not in MODES:
        raise UsageError(
            f"CALIBAN_DEFAULT_PERMISSION_MODE: unknown permission mode {text!r}",
            hint=f"one of {', '.join(MODES)}",
        )
    return text or None


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
    systems = [options.system is not None, options.system_file is not None, options.no_system]
    if sum(systems) > 1:
        raise UsageError("--system, --system-file and --no-system exclude each other")
    _check_session(options)
    ruled = options.allow or options.deny or options.ask or options.auto_allow
    if options.no_permissions and ruled:
        raise UsageError(
            "--no-permissions contradicts --allow, --deny, --ask and --auto-allow",
            hint="CALIBAN_NO_PERMISSIONS and CALIBAN_AUTO_ALLOW count as their flags",
        )
    if options.input_format == "stream-json":
        _check_frames(options)


def _check_session(options: Options) -> None:
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


def _check_frames(options: Options) -> None:
    """With stream-json input the prompts are frames: another prompt would bypass their parser."""
    said = [text for text in (options.print_prompt, options.prompt_flag, options.prompt) if text]
    if any(text != "-" for text in said):
        raise UsageError(
            "--input-format stream-json reads its prompts from standard input",
            hint="leave the prompt out, or give - for it",
        )
