"""A date or a time that a person types."""

from __future__ import annotations

from datetime import UTC, datetime

from caliban.errors import UsageError
from caliban_common.text import one_line


def moment_of(flag: str, text: str) -> datetime:
    """The moment in UTC, which is meant where no zone is named. Raises `UsageError`, which names `flag`."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{flag}: {one_line(text, max_chars=80)!r} is no date or time",
            hint="such as 2027-01-01T00:00:00Z",
        ) from error
