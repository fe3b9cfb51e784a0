"""What an embedder hands over, looked at before anything runs: what is of another type is named at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from caliban_common.message import Message, NewId, user


def expect(name: str, value: object, kind: type, hint: str) -> None:
    """Raises `TypeError` where `value`, given as `name`, is no `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} takes {kind.__name__}, not {type(value).__name__}: {hint}")


def expect_method(name: str, value: object, method: str, hint: str) -> None:
    """Raises `TypeError` where `value`, given as `name`, has no `method`, or is a class."""
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        what = f"the class {value.__name__}" if isinstance(value, type) else _kind(value)
        raise TypeError(f"{name} takes an object with {method}(), not {what}: {hint}")


def expect_number(name: str, value: object, low: float, high: float | None = None) -> None:
    """Raises `TypeError` where `value`, given as `name`, is no number, `ValueError` outside of its bounds.

    A whole number is wanted where `high` is left out.
    """
    kinds = (int,) if high is None else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise TypeError(f"{name} takes a {'whole ' if high is None else ''}number, not {value!r}")
    if not low <= value or (high is not None and not value <= high):
        bounds = f"at least {low:g}" if high is None else f"from {low:g} to {high:g}"
        raise ValueError(f"{name} takes a number {bounds}, not {value}")


def history_of(history: str | Message | Sequence[Message], new_id: NewId) -> tuple[Message, ...]:
    """The messages that were given; a string is one of the user. Raises `TypeError` for anything else."""
    if isinstance(history, str):
        return (user(history, id=new_id()),)
    if isinstance(history, Message):
        return (history,)
    if not isinstance(history, Sequence) or isinstance(history, bytes | bytearray | Mapping):
        raise TypeError(f"a history is a string, a Message or a sequence of them, not {_kind(history)}")
    messages: tuple[object, ...] = tuple(history)
    for at, message in enumerate(messages):
        if not isinstance(message, Message):
            raise TypeError(
                f"message {at} of the history is {_kind(message)} and no Message: "
                "user(text) makes one of a string, message_from_json one of plain data"
            )
    return cast("tuple[Message, ...]", messages)


def _kind(value: object) -> str:
    return type(value).__name__
