"""Moments as text: UTC, milliseconds, ending in Z."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """This moment, cut to what `to_text` keeps."""
    return cut(datetime.now(UTC))


def cut(moment: datetime) -> datetime:
    """`moment` without what a file would not keep."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def to_text(moment: datetime) -> str:
    """`moment` as RFC 3339."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_text(text: object) -> datetime | None:
    """The moment in `text`, `None` when it holds none; without an offset it is read as UTC."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    try:
        return cut(moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC))
    except OverflowError:
        return None


def from_seconds(seconds: float) -> datetime:
    """The moment of a file's time stamp; the epoch when the stamp is none."""
    try:
        return cut(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)
