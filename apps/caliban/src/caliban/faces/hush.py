"""What libraries log or warn of, kept from standard error: it is ours, and a screen may stand there.

Python writes there whatever no handler takes. That is words of others about files of others, in between ours,
`--quiet` or not. What matters of it is raised, and told as an error.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings


def hush_libraries() -> None:
    """Let nothing be written that nobody asked for; `CALIBAN_DEBUG`, or `-W`, asks for it."""
    if os.environ.get("CALIBAN_DEBUG"):
        return
    logging.getLogger().addHandler(logging.NullHandler())
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
