"""A model that makes the same failing call again and again: it is told, and then the run ends.

Pure: state and facts in, state and verdict out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from caliban_common.codec import dumps
from caliban_common.errors import DataError
from caliban_common.message import ToolUseBlock

TELL_AFTER = 3
STOP_AFTER = 6
"""How often one call may fail in the same way before the model is told, and before the run ends."""

MARK = "The same call has failed"


class Repeats(Struct, frozen=True, kw_only=True):
    """How many replies made each call that failed, since something last changed."""

    failures: Mapping[bytes, int] = field(default_factory=dict)


DoomVerdict: TypeAlias = Literal["go", "tell", "stop"]


def after_calls(
    state: Repeats, calls: Iterable[ToolUseBlock], failed: Iterable[ToolUseBlock], *, changed: bool
) -> tuple[Repeats, DoomVerdict, str]:
    """The state after the `calls` of a reply, of which some `failed`; what to do, and the tool's name.

    The same call twice in one reply counts once: the model had not seen the result. A tool that does more
    than read and succeeds (`changed`) is a reason to try again what the same reply has not tried.
    """
    names = {_key(call): call.name for call in failed}
    answered = {_key(call) for call in calls} - set(names)
    before = {
        key: n for key, n in state.failures.items() if key not in answered and (key in names or not changed)
    }
    counts = {**before, **{key: before.get(key, 0) + 1 for key in names}}
    worst = max(names, key=lambda key: counts[key], default=b"")
    number = counts.get(worst, 0)
    verdict: DoomVerdict = "stop" if number >= STOP_AFTER else "tell" if number == TELL_AFTER else "go"
    return Repeats(failures=counts), verdict, names.get(worst, "")


def advice(name: str) -> str:
    """What the model is told."""
    return (
        f"{MARK} {TELL_AFTER} times: {name} with these arguments gives the same error. Do not make it again "
        "as it is; find out what is wrong, try another way, or say what keeps you from going on."
    )


def _key(call: ToolUseBlock) -> bytes:
    if call.raw_input is not None:
        return dumps([call.name, call.raw_input])
    try:
        return dumps([call.name, sorted(call.input.items(), key=lambda item: item[0])])
    except DataError:
        return dumps([call.name])  # nested too deeply to be written
