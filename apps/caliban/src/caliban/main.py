"""The program below its entry point: choose what to do, do it, and turn every error into words and a code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from caliban.cli.commands import COMMANDS, Subcommand, find_command
from caliban.cli.formats import output_format
from caliban.cli.help import command_parser
from caliban.cli.invocation import Invocation
from caliban.cli.options import Options
from caliban.cli.parser import parse, parse_command
from caliban.early_signals import EarlySignals
from caliban.errors import UsageError
from caliban.stdio import complain, write_out
from caliban_common.errors import CalibanError


def run(
    arguments: Sequence[str],
    signals: EarlySignals | None = None,
    commands: Sequence[Subcommand] = COMMANDS,
) -> int:
    """Do what `arguments` say; the exit code. No error of ours or of the environment gets past this.

    `signals` holds the signals that came before a run could be cancelled.
    """
    _make_streams_utf8()
    if os.environ.get("CALIBAN_DEBUG"):
        _show_faults()
    try:
        return _dispatch(arguments, signals or EarlySignals(), commands)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 141
    except CalibanError as error:
        return report(error, wanted_format(arguments))
    except Exception as error:
        return report(_fault(error), wanted_format(arguments))


def _show_faults() -> None:
    """Let the log say where a provider failed: its fault ends a run in words only."""
    import logging

    logging.basicConfig(format="%(name)s: %(message)s")
    logging.getLogger("caliban_agent_core").setLevel(logging.DEBUG)


def _fault(error: Exception) -> CalibanError:
    """A fault of ours in words; with `CALIBAN_DEBUG` set, its traceback stands on standard error first."""
    if os.environ.get("CALIBAN_DEBUG"):
        import traceback

        complain("".join(traceback.format_exception(error)))
    words = " ".join(str(error).split())[:300]
    return CalibanError(
        f"this is a fault in caliban: {type(error).__name__}: {words}",
        hint="please report it; CALIBAN_DEBUG=1 shows where it happened",
    )


def report(error: CalibanError, format_name: str | None) -> int:
    """Say `error` where its reader looks: standard error, and a result object for a program."""
    from caliban.exits import exit_code, subtype

    code = exit_code(error)
    if output_format(format_name).is_data:
        from caliban_drive.result import PromptResult
        from caliban_headless.json import JsonEncoder

        result = PromptResult(subtype=subtype(code), error=error.message, hint=error.hint)
        code = write_out(JsonEncoder().result(result)) or code
    hint = f"\nhint: {error.hint}" if error.hint else ""
    complain(f"caliban: {error.message}{hint}\n")
    return code


def wanted_format(arguments: Sequence[str]) -> str | None:
    """The output format that the arguments name, whether or not the rest of them make sense."""
    named: str | None = None
    for position, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument == "--output-format" and position + 1 < len(arguments):
            named = arguments[position + 1]
        elif argument.startswith("--output-format="):
            named = argument.split("=", 1)[1]
    return named


def _dispatch(arguments: Sequence[str], signals: EarlySignals, commands: Sequence[Subcommand]) -> int:
    called = find_command(arguments, commands)
    if called is not None:
        return _run_command(*called, signals)
    options = parse(arguments, os.environ)
    _choose_face(options)
    from caliban.faces.headless import answer

    return answer(options, signals)


def _run_command(command: Subcommand, arguments: Sequence[str], signals: EarlySignals) -> int:
    if "-h" in arguments or "--help" in arguments or (command.needs_words and not arguments):
        return write_out(command_parser(command).format_help().encode())
    options, values = parse_command(command, arguments, os.environ)
    return command.load()(Invocation(options=options, values=values, signals=signals))


def _choose_face(options: Options) -> None:
    """There is one face in this version; say so where another was meant."""
    if options.output.prints:
        return
    at_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    if not options.prompt.is_given and sys.stdin is not None and sys.stdin.isatty():
        raise UsageError(
            "the terminal interface is not part of this version",
            hint='give a prompt: caliban -p "…"',
        )
    if options.output.no_auto_print:
        raise UsageError("--no-auto-print needs the terminal interface, which is not part of this version")
    if at_terminal:
        complain("[caliban: the terminal interface is not part of this version; answering once]\n")


def _make_streams_utf8() -> None:
    """Write UTF-8 whatever the locale says; what cannot be written is escaped, never an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
