"""The encoders of the headless face, one per format; only the one in use is loaded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from caliban.cli.options import OutputOptions

if TYPE_CHECKING:
    from caliban_headless.run import OutputEncoder


def text(options: OutputOptions) -> OutputEncoder:
    """The answer: streamed to a person; to a program, or under a schema, only the final text."""
    from caliban_headless.text import FinalText, TextEncoder

    if options.json_schema is not None:
        return FinalText(is_data=True)
    # The descriptor is asked: `sys.stdout` is standard error by now.
    return TextEncoder() if os.isatty(1) else FinalText()


def json(options: OutputOptions) -> OutputEncoder:
    """One object at the end."""
    from caliban_headless.json import JsonEncoder

    return JsonEncoder()


def stream_json(options: OutputOptions) -> OutputEncoder:
    """A frame a line."""
    from caliban_headless.stream import StreamEncoder, StreamOptions

    return StreamEncoder(
        StreamOptions(
            partial=options.include_partial_messages,
            hooks=options.include_hook_events,
            dispatch=options.include_dispatch_events,
            replay_user=options.replay_user_messages,
        )
    )
