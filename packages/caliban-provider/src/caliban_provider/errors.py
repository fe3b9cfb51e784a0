"""What can go wrong between Caliban and a model, with what is known of it.

    ProviderError
    ├── AuthenticationError      401, 403: the key is missing, wrong or not allowed
    ├── BillingError             402, or a quota that waiting does not refill
    ├── ModelUnavailable         404 for the model, or a model that this provider does not have
    ├── InvalidRequest           400: the request itself is wrong
    │   ├── ContextTooLong       the prompt does not fit the model's window
    │   │   └── BeyondRate       the prompt alone is more than the account may send in a minute
    │   └── RequestTooLarge      413
    ├── RateLimited              429
    ├── Overloaded               529, or the same said inside a stream
    ├── ServerError              5xx
    ├── NetworkError             no connection, a reset, a name that does not resolve
    ├── StreamInterrupted        the stream ended before the message did
    ├── StreamIdle               nothing came for too long
    ├── BadResponse              bytes that are not the wire's format
    ├── UnknownProvider          no provider of that name is installed
    └── BudgetSpent              the call was not made: the operator's budget does not allow it

`retryable` says whether the same request may succeed later: a class has the usual answer, and one error
another one where the server said so. `retry_after_s` is what the server asked for.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from caliban_common.errors import CalibanError
from caliban_common.stop import Stop

ErrorCategory: TypeAlias = Literal[
    "authentication",
    "billing",
    "model_unavailable",
    "invalid_request",
    "context_too_long",
    "rate_limit",
    "overloaded",
    "server_error",
    "network",
    "interrupted",
    "timeout",
    "bad_response",
    "unknown_provider",
    "budget",
    "other",
]


class ProviderError(CalibanError):
    """A model call failed."""

    category: ClassVar[ErrorCategory] = "other"
    retryable: bool = False

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        status: int | None = None,
        retry_after_s: float | None = None,
        code: str | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.retry_after_s = retry_after_s
        self.code = code
        self.request_id = request_id


class AuthenticationError(ProviderError):
    """The key is missing, wrong or not allowed to do this."""

    category: ClassVar[ErrorCategory] = "authentication"


class BillingError(ProviderError):
    """The account cannot pay, or its quota is used up."""

    category: ClassVar[ErrorCategory] = "billing"


class ModelUnavailable(ProviderError):
    """The provider does not have the model."""

    category: ClassVar[ErrorCategory] = "model_unavailable"


class InvalidRequest(ProviderError):
    """The provider refused the request as it stands."""

    category: ClassVar[ErrorCategory] = "invalid_request"


class ContextTooLong(InvalidRequest):
    """The prompt does not fit the model's window; compaction may help."""

    category: ClassVar[ErrorCategory] = "context_too_long"


class BeyondRate(ContextTooLong):
    """The prompt alone is more than the account may send in a minute; another model may take it."""


class RequestTooLarge(InvalidRequest):
    """The request has more bytes than the provider takes."""


class RateLimited(ProviderError):
    """Too many requests or tokens for now."""

    category: ClassVar[ErrorCategory] = "rate_limit"
    retryable = True


class Overloaded(ProviderError):
    """The provider has no capacity for now."""

    category: ClassVar[ErrorCategory] = "overloaded"
    retryable = True


class ServerError(ProviderError):
    """The provider failed inside."""

    category: ClassVar[ErrorCategory] = "server_error"
    retryable = True


class NetworkError(ProviderError):
    """The provider could not be reached, or the connection broke before an answer."""

    category: ClassVar[ErrorCategory] = "network"
    retryable = True


class StreamInterrupted(ProviderError):
    """The stream ended before the message did. Retried only while nothing of the reply was received."""

    category: ClassVar[ErrorCategory] = "interrupted"
    retryable = True


class StreamIdle(ProviderError):
    """Nothing came for `idle_s` seconds. Not retried: the same silence would be waited for again."""

    category: ClassVar[ErrorCategory] = "timeout"

    def __init__(self, message: str, *, idle_s: float, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.idle_s = idle_s


class BadResponse(ProviderError):
    """The answer is not of the wire's format."""

    category: ClassVar[ErrorCategory] = "bad_response"


class UnknownProvider(ProviderError):
    """No installed package offers the provider."""

    category: ClassVar[ErrorCategory] = "unknown_provider"


class BudgetSpent(ProviderError):
    """The call was not made, because of what the operator allows to spend; `stop` is how the run ends."""

    category: ClassVar[ErrorCategory] = "budget"

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.message, hint=stop.hint)
        self.stop = stop
