"""What can be wrong with a router's configuration, or with every route of a request.

    CalibanError
    └── RouterConfigError     a table or key of the router's configuration is wrong

    ProviderError
    ├── NoCandidate           no route of the purpose can do what the request needs
    ├── RoutesResting         every route that could answer cools down
    ├── FallbackExhausted     every route that was asked failed
    ├── (ContextTooLong)
    │   └── NoRouteFits       every route failed, one of them for the length of the prompt
    └── (BudgetSpent)
        └── BudgetExhausted   the budget is spent, or nobody allowed the next call

A `Failure` is a value: which route failed, and with what.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.remedy import Remedy
from caliban_common.stop import Stop
from caliban_provider.errors import BudgetSpent, ContextTooLong, ErrorCategory, ProviderError


class RouterConfigError(CalibanError):
    """The configuration cannot be used; `table` and `key` say where it is wrong."""

    def __init__(self, message: str, *, table: str, key: str | None = None, hint: str | None = None) -> None:
        place = f"[{table}] {key}" if key else f"[{table}]"
        super().__init__(f"{place}: {message}", hint=hint)
        self.table = table
        self.key = key


class Failure(Struct, frozen=True, kw_only=True):
    """A route that was asked, and what it failed with."""

    route_id: str
    error: ProviderError


class NoCandidate(ProviderError):
    """No route of the purpose can do what the request needs; the message says what each one lacks."""

    category: ClassVar[ErrorCategory] = "model_unavailable"


class RoutesResting(ProviderError):
    """Every route cools down; `retry_after_s` is when the first may be asked again."""

    category: ClassVar[ErrorCategory] = "overloaded"
    retryable = True


class FallbackExhausted(ProviderError):
    """Every route that was asked failed; `failures` has them in order.

    Category and status are those of the last. It is retryable if one of them is, and names a wait only if
    each of those named one: then the shortest.
    """

    def __init__(self, failures: tuple[Failure, ...]) -> None:
        last = failures[-1].error
        again = [failure.error for failure in failures if failure.error.retryable]
        waits = [error.retry_after_s for error in again if error.retry_after_s]
        super().__init__(
            f"fallback exhausted: {told(failures)}",
            hint=last.hint,
            status=last.status,
            code=last.code,
            request_id=last.request_id,
            retry_after_s=min(waits) if waits and len(waits) == len(again) else None,
        )
        self.failures = failures
        self.remedy: Remedy | None = last.remedy
        self.retryable: bool = bool(again)
        self.category = last.category  # type: ignore[misc]  # the class stands for many categories


class NoRouteFits(ContextTooLong):
    """Every route failed, one of them for the length of the prompt: a shorter one may be answered."""

    def __init__(self, failures: tuple[Failure, ...]) -> None:
        super().__init__(f"fallback exhausted: {told(failures)}")
        self.failures = failures


class BudgetExhausted(BudgetSpent):
    """The budget is spent, or somebody who was asked did not allow the next call."""

    def __init__(self, message: str) -> None:
        super().__init__(Stop(kind="budget", message=message, hint="allow a larger budget to go on"))


def told(failures: tuple[Failure, ...]) -> str:
    """The failures in one line, each thing that was said once."""
    routes_by_message: dict[str, list[str]] = {}
    for failure in failures:
        routes_by_message.setdefault(failure.error.message, []).append(failure.route_id)
    return "; ".join(f"{', '.join(routes)}: {message}" for message, routes in routes_by_message.items())
