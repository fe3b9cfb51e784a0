"""`caliban replay`: a recorded run played again."""

from __future__ import annotations

from caliban.cli.invocation import Invocation
from caliban.faces.replayed import ReplayRequest, play
from caliban_common.paths import expand_user


def replay(invocation: Invocation) -> int:
    """Play the recording; nothing is run, and nobody asked, unless another model is to go on."""
    values = invocation.values
    request = ReplayRequest(
        file=expand_user(values["file"]),
        options=invocation.options,
        until=values["until"],
        swap_model=values["swap_model"],
        strict=values["strict"],
    )
    return play(request, invocation.signals)
