"""The entry point: looks at the arguments before it imports anything."""

from __future__ import annotations

import os
import sys

ASCII = ("ascii", "us-ascii", "ansi_x3.4-1968")


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        from caliban.version import version_line

        _leave(_print_version(version_line()))
    if sys.getfilesystemencoding() in ASCII:
        _start_again_in_utf8()
    import gc

    gc.disable()  # nothing of what is imported now ever becomes garbage
    from caliban.main import run

    gc.freeze()
    gc.enable()
    _leave(run(arguments))


def _start_again_in_utf8() -> None:
    """Leave a locale in which neither a prompt nor a file name beyond ASCII can be read."""
    if not sys.flags.utf8_mode and hasattr(os, "execv"):
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _print_version(line: str) -> int:
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError:
        return 141
    return 0


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
