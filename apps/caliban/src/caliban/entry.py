"""What the entry point enters: looks at the arguments before it imports anything more."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from caliban.early_signals import EarlySignals
from caliban.last_words import NOT_WHOLE, SHORT_OF_FILES, failed_words, wanted_format
from caliban.stdio import complain, write_out

if TYPE_CHECKING:
    from caliban_tui.boot import FirstFrame

ASCII = ("ascii", "us-ascii", "ansi_x3.4-1968")
ABOUT = frozenset(("-V", "--version", "-h", "--help"))


def enter(at_end: Callable[[], None] | None = None, first: FirstFrame | None = None) -> NoReturn:
    """Run the command line and leave the process with its exit code; after a success call `at_end` first.

    `first` stands on the terminal already: it is handed on, or given back before anything is said.
    """
    arguments = sys.argv[1:]
    flags = arguments[: arguments.index("--")] if "--" in arguments else arguments
    signals = EarlySignals(wanted_format(arguments))
    if first is not None:
        signals.before_end = first.restore
    try:
        if flags == ["help"] or ABOUT.intersection(flags):
            from caliban.about import about

            code = about(flags)
            if code is not None:
                _leave(code)
        if sys.getfilesystemencoding() in ASCII:
            _start_again_in_utf8()
        signals.listen()
        _leave(_run(arguments, signals, first, partial(_leave, at_end=at_end)), at_end)
    except (ImportError, OSError) as error:
        if first is not None:
            first.restore()
        if not isinstance(error, ImportError) and error.errno not in (errno.EMFILE, errno.ENFILE):
            raise
        reason = NOT_WHOLE if isinstance(error, ImportError) and _may_open() else SHORT_OF_FILES
        write_out(failed_words(wanted_format(arguments), signals.state, reason))
        detail = f"{type(error).__name__}: {error}" if reason == NOT_WHOLE else type(error).__name__
        complain(f"{reason} ({detail})\n")
        _leave(1)


def _run(
    arguments: list[str], signals: EarlySignals, first: FirstFrame | None, leave: Callable[[int], NoReturn]
) -> int:
    if not os.environ.get("CALIBAN_DEBUG"):
        sys.unraisablehook = _say_nothing  # what a loop that was half made complains of helps nobody
    from caliban.main import run

    return run(arguments, signals, first=first, leave=leave)


def _may_open() -> bool:
    """Whether the system gives another file: without one, modules that are there are not found."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return False
    return True


def _say_nothing(unraisable: object) -> None:
    """Leave what no code can raise unsaid: the error that caused it is told."""


def _start_again_in_utf8() -> None:
    """Leave a locale in which neither a prompt nor a file name beyond ASCII can be read."""
    if not sys.flags.utf8_mode and hasattr(os, "execv"):
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _leave(code: int, at_end: Callable[[], None] | None = None) -> NoReturn:
    """Exit without the interpreter's teardown: everything is flushed and closed by now."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass
    if at_end is not None and code == 0:
        at_end()
    os._exit(code)
