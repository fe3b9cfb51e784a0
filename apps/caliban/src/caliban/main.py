"""The program below its entry point: choose what to do, do it, and turn every error into words and a code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NoReturn

from caliban.cli.commands import COMMANDS, find_command
from caliban.cli.formats import output_format
from caliban.cli.invocation import Invocation
from caliban.cli.options import Options
from caliban.cli.parser import parse, parse_command
from caliban.early_signals import EarlySignals
from caliban.errors import UsageError
from caliban.last_words import OutputState, cancelled_words, wanted_format
from caliban.stdio import can_be_written, complain, keep_stdout, write_out
from caliban_common.errors import CalibanError

if TYPE_CHECKING:
    from caliban.cli.subcommand import Subcommand
    from caliban_tui.boot import FirstFrame

SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT)
REFUSALS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP, errno.EIO)
HINTS: Final[Mapping[int, str]] = MappingProxyType(
    {
        **dict.fromkeys(SHORTAGES, "look at ulimit -a, and at the free space"),
        **dict.fromkeys(
            REFUSALS, "look at that path: whose it is, how long it is, and what it is mounted from"
        ),
    }
)
"""What the system refuses is no fault of ours, wherever in the program it comes up: what to do next."""


def run(
    arguments: Sequence[str],
    signals: EarlySignals | None = None,
    commands: Sequence[Subcommand] = COMMANDS,
    *,
    first: FirstFrame | None = None,
    leave: Callable[[int], NoReturn] | None = None,
) -> int:
    """Do what `arguments` say; the exit code. No error of ours or of the environment gets past this.

    `signals` holds the signals that came before a run could be cancelled. `first` is on the screen already;
    the terminal is given back before an error is told. `leave` ends the process, for a face that has nothing
    left to do.
    """
    _make_streams_utf8()
    signals = signals or EarlySignals(wanted_format(arguments))
    if os.environ.get("CALIBAN_DEBUG"):
        _show_faults()
    try:
        return _dispatch(arguments, signals, commands, first, leave)
    except KeyboardInterrupt:
        return write_out(cancelled_words(wanted_format(arguments), signals.state)) or 130
    except BrokenPipeError:
        return 141
    except CalibanError as error:
        return report(error, wanted_format(arguments), signals.state)
    except Exception as error:
        return report(_fault(error), wanted_format(arguments), signals.state)


def _show_faults() -> None:
    """Let the log say where a provider failed: its fault ends a run in words only."""
    import logging

    logging.basicConfig(format="%(name)s: %(message)s")
    for name in ("caliban_agent_core", "caliban_provider"):
        logging.getLogger(name).setLevel(logging.DEBUG)


def _fault(error: Exception) -> CalibanError:
    """A fault of ours in words; with `CALIBAN_DEBUG` set, its traceback stands on standard error first."""
    if os.environ.get("CALIBAN_DEBUG"):
        import traceback

        complain("".join(traceback.format_exception(error)))
    system = next(
        (leaf for leaf in _leaves(error) if isinstance(leaf, OSError) and leaf.errno in HINTS), None
    )
    words = " ".join(str(system or error).split())[:300]
    if system is not None:
        return CalibanError(f"the system refused: {words}", hint=HINTS[system.errno or 0])
    return CalibanError(
        f"this is a fault in caliban: {type(error).__name__}: {words}",
        hint="please report it; CALIBAN_DEBUG=1 shows where it happened",
    )


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """What was raised: of tasks that failed together, each error of theirs."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def report(error: CalibanError, format_name: str | None, state: OutputState) -> int:
    """Say `error` where its reader looks: standard error, and a result for a program that has none yet."""
    from caliban.exits import exit_code, subtype

    code = exit_code(error)
    hint = error.hint
    if error.remedy is not None:
        from caliban_drive.remedies import advice

        hint = advice(hint, error.remedy)
    row = output_format(format_name)
    if row.is_data and not state.has_result:
        from caliban_drive.result import PromptResult
        from caliban_headless.failed import failed_output

        result = PromptResult(subtype=subtype(code), error=error.message, hint=hint)
        begins = row.holds_notices and not state.has_begun
        code = write_out(failed_output(result, begins=begins, cwd=_here())) or code
        state.has_result = True
    complain(f"caliban: {error.message}\n" + (f"hint: {hint}\n" if hint else ""))
    return code


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def _dispatch(
    arguments: Sequence[str],
    signals: EarlySignals,
    commands: Sequence[Subcommand],
    first: FirstFrame | None = None,
    leave: Callable[[int], NoReturn] | None = None,
) -> int:
    try:
        called = find_command(arguments, commands)
        if called is not None:
            return _run_command(*called, signals)
        options = parse(arguments, os.environ)
        if _at_terminal(options):
            from caliban.faces.terminal.face import converse

            return converse(options, signals, first)
    finally:
        if first is not None:
            first.restore()
    if not can_be_written(1):
        complain("caliban: standard output cannot be written: it is closed; nothing was asked\n")
        return 1
    from caliban.faces.headless import answer

    keep_stdout()
    return answer(options, signals, leave)


def _run_command(command: Subcommand, arguments: Sequence[str], signals: EarlySignals) -> int:
    asks_help = arguments == ["help"] or not {"-h", "--help"}.isdisjoint(arguments)
    if asks_help or (command.needs_words and not arguments):
        from caliban.cli.help import command_parser

        return write_out(command_parser(command).format_help().encode())
    options, values = parse_command(command, arguments, os.environ)
    keep_stdout()
    try:
        return command.load()(Invocation(options=options, values=values, signals=signals))
    except CalibanError as error:
        if error.remedy is not None:
            from caliban_drive.remedies import command_advice

            error.hint, error.remedy = command_advice(error.hint, error.remedy), None
        raise


def _at_terminal(options: Options) -> bool:
    """Whether the terminal interface answers: at a terminal on both ends, unless a flag wants it otherwise.

    Raises `UsageError` where it is asked for and there is no terminal.
    """
    if options.output.prints or options.prompt.prompt == "-" or options.prompt.prompt_flag == "-":
        return False
    here = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    if not here and options.output.no_auto_print:
        raise UsageError(
            "--no-auto-print wants the terminal interface, and there is no terminal on both ends",
            hint='leave it out, or give a prompt: caliban -p "…"',
        )
    if here and options.permissions.permission_prompt_tool is not None:
        raise UsageError(
            "--permission-prompt-tool is for runs without a person: at a terminal you are asked yourself",
            hint='leave it out, or give a prompt: caliban -p "…"',
        )
    return here


def _make_streams_utf8() -> None:
    """Write UTF-8 whatever the locale says; what cannot be written is escaped, never an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
