"""Errors of providers as plain data, and back."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct, to_builtins

from caliban_common.remedy import Remedy
from caliban_common.stop import Stop
from caliban_common.typed import typed
from caliban_provider import errors
from caliban_provider.errors import BudgetSpent, ProviderError, StreamIdle

KINDS: Final[Mapping[str, type[ProviderError]]] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (
            errors.AuthenticationError,
            errors.BillingError,
            errors.ModelUnavailable,
            errors.InvalidRequest,
            errors.ContextTooLong,
            errors.BeyondRate,
            errors.RequestTooLarge,
            errors.RateLimited,
            errors.Overloaded,
            errors.ServerError,
            errors.NetworkError,
            errors.StreamInterrupted,
            errors.BadResponse,
            errors.UnknownProvider,
            ProviderError,
        )
    }
)


class FaultData(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A `ProviderError`: the name of its class, and its members."""

    kind: str
    message: str
    hint: str | None = None
    status: int | None = None
    retry_after_s: float | None = None
    code: str | None = None
    retryable: bool = False
    remedy: Remedy | None = None
    idle_s: float | None = None
    stop: Stop | None = None


def error_to_data(error: ProviderError) -> dict[str, Any]:
    """`error` as plain data; of a class that others made, the nearest of ours."""
    kind = next((c.__name__ for c in type(error).__mro__ if c.__name__ in KINDS), ProviderError.__name__)
    fault = FaultData(
        kind=kind,
        message=error.message,
        hint=error.hint,
        status=error.status,
        retry_after_s=error.retry_after_s,
        code=error.code,
        retryable=error.retryable,
        remedy=error.remedy,
        idle_s=error.idle_s if isinstance(error, StreamIdle) else None,
        stop=error.stop if isinstance(error, BudgetSpent) else None,
    )
    data: dict[str, Any] = to_builtins(fault)
    return data


def error_from_data(data: Mapping[str, Any]) -> ProviderError:
    """The error in plain data. Raises `DataError`."""
    fault = typed(dict(data), FaultData, what="an error")
    error: ProviderError
    if fault.stop is not None:
        error = BudgetSpent(fault.stop)
    elif fault.idle_s is not None:
        error = StreamIdle(fault.message, idle_s=fault.idle_s, hint=fault.hint)
    else:
        error = KINDS.get(fault.kind, ProviderError)(
            fault.message,
            hint=fault.hint,
            status=fault.status,
            retry_after_s=fault.retry_after_s,
            code=fault.code,
        )
    error.retryable = fault.retryable
    error.remedy = fault.remedy
    return error
