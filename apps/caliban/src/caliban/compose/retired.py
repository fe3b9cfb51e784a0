"""Names of models that their vendor takes out of service, in words."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime

from caliban_drive.notice import Notice, Report
from caliban_provider.capabilities import Retirement
from caliban_provider.provider import Provider


def retirement_words(retirement: Retirement, today: date) -> str:
    """Whether a name is out of service or will be, and since or from when."""
    verb = "retires" if retirement.on > today.isoformat() else "retired"
    return f"{verb} {retirement.on}"


def tell_retirements(asked: Iterable[tuple[Provider, str]], report: Report) -> None:
    """Warn of each model of a run that has a last day, with what to ask instead."""
    today = datetime.now(UTC).date()
    for provider, model in asked:
        retirement = provider.capabilities(model).retirement
        if retirement is None:
            continue
        instead = f"; ask for {retirement.successor} instead" if retirement.successor else ""
        words = retirement_words(retirement, today)
        message = f"{model}: {words} by its vendor (as of {retirement.as_of}){instead}"
        report(Notice(subtype="retired_model", message=message))
