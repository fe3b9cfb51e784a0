"""The entry point: looks at the arguments before it imports anything."""

from __future__ import annotations

import os
import sys

from caliban.early_signals import EarlySignals
from caliban.stdio import hold_standard_descriptors

ASCII = ("ascii", "us-ascii", "ansi_x3.4-1968")
ABOUT = frozenset(("-V", "--version", "-h", "--help"))


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    arguments = sys.argv[1:]
    flags = arguments[: arguments.index("--")] if "--" in arguments else arguments
    hold_standard_descriptors()
    if flags == ["help"] or ABOUT.intersection(flags):
        from caliban.about import about

        code = about(flags)
        if code is not None:
            _leave(code)
    if sys.getfilesystemencoding() in ASCII:
        _start_again_in_utf8()
    signals = EarlySignals()
    signals.listen()
    import gc

    gc.disable()  # nothing of what is imported ever becomes garbage; a run that begins turns it on again
    from caliban.main import run

    _leave(run(arguments, signals))


def _start_again_in_utf8() -> None:
    """Leave a locale in which neither a prompt nor a file name beyond ASCII can be read."""
    if not sys.flags.utf8_mode and hasattr(os, "execv"):
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _leave(code: int) -> None:
    """Exit without the interpreter's teardown: everything is flushed and closed by now."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass
    os._exit(code)


if __name__ == "__main__":
    main()
