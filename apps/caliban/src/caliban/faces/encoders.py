"""The encoders of the headless face, one a format: only the one that is asked for is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caliban.cli.options import OutputOptions

if TYPE_CHECKING:
    from caliban_headless.run import OutputEncoder


def text(options: OutputOptions) -> OutputEncoder:
    """The answer alone."""
    from caliban_headless.text import TextEncoder

    return TextEncoder()


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
