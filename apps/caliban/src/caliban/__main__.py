"""The entry point: makes imports quick before it imports anything."""

from __future__ import annotations

import sys

if getattr(__spec__, "name", "") == "caliban.__main__" == f"caliban.{__name__}" and not sys.flags.safe_path:
    del sys.path[0]  # `python -m` looks for modules in the working directory first: whoever wrote that runs

from caliban.import_cache import import_cache
from caliban.stdio import hold_standard_descriptors


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    hold_standard_descriptors()  # before any file is opened, or it would get the number of a closed stream
    first = None
    if len(sys.argv) == 1:
        from caliban_tui.boot import first_frame

        first = first_frame()
    try:
        cache = import_cache()
        if cache is not None:
            cache.install()
        from caliban.entry import enter

        enter(None if cache is None else cache.update, first)
    finally:
        if first is not None:
            first.restore()


if __name__ == "__main__":
    main()
