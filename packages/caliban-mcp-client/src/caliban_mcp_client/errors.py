"""What can go wrong with a server.

CalibanError
└── McpError                 the root of this package
    ├── ConnectError         no conversation came about; `kind` says why
    │   ├── LoginNeeded      the server wants a login, and nobody is there to make one
    │   └── LoginFailed      a login did not come about; `step` says where it ended
    ├── ServerGone           the conversation is over: closed, or the server was given up
    ├── ProtocolError        the server answered with what is no answer of this protocol
    └── CallError            a request that has no result
        ├── CallRefused      the server answered with an error; `code` and `data` are its own
        ├── CallTimedOut     no answer in time
        ├── CallLost         the server, or the way to it, went away before there was an answer
        ├── HttpRefused      the address answered with a status that is no answer to a request
        └── NotOffered       the server does not have what was asked for
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from caliban_common.errors import CalibanError

ConnectKind: TypeAlias = Literal[
    "not_found", "exited", "timed_out", "not_mcp", "unauthorized", "version", "unreachable", "refused"
]
"""No such program, it ended, it said nothing, it speaks something else, it wants a login, it speaks other
versions, nothing answers at the address, or the target is one that we do not take."""


class McpError(CalibanError):
    """The root of what can go wrong with a server."""


class ConnectError(McpError):
    """No conversation came about.

    `stderr` has the last 2,000 characters that the program said, `problems` what else was odd until then.
    """

    def __init__(self, kind: ConnectKind, message: str, *, hint: str | None = None, stderr: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.stderr = stderr
        self.problems: tuple[str, ...] = ()


class LoginNeeded(ConnectError):
    """The server wants a login; `scopes` are those that it names, where it does."""

    def __init__(self, message: str, *, hint: str | None = None, scopes: tuple[str, ...] = ()) -> None:
        super().__init__("unauthorized", message, hint=hint)
        self.scopes = scopes


LoginStep: TypeAlias = Literal[
    "address",
    "metadata",
    "pkce",
    "issuer",
    "client",
    "callback",
    "denied",
    "identity",
    "token",
    "unreachable",
    "store",
]
"""What stood in the way: an address that is not asked, what the servers say of themselves, no PKCE, an issuer
that is another one, no client, the way back from the browser, the word of the authorisation server, who the
person is to their identity provider, a token, no answer, or the place where logins are kept."""


class LoginFailed(ConnectError):
    """A login, or its renewal, did not come about. `code` is the server's own word for it, or empty."""

    def __init__(self, step: LoginStep, message: str, *, hint: str | None = None, code: str = "") -> None:
        kind: ConnectKind = "unreachable" if step in ("unreachable", "store") else "unauthorized"
        super().__init__(kind, message, hint=hint)
        self.step = step
        self.code = code


class ServerGone(McpError):
    """The conversation is over: it was closed, or the server ended too often."""


class ProtocolError(McpError):
    """The server answered with what is no answer of this protocol."""


class CallError(McpError):
    """A request that has no result."""


class CallRefused(CallError):
    """The server answered with an error of its own: `code` and `data` as it sent them."""

    def __init__(
        self, method: str, code: int, words: str, data: Any = None, *, hint: str | None = None
    ) -> None:
        super().__init__(f"{method}: {words} ({code})", hint=hint)
        self.code = code
        self.words = words
        self.data = data


class CallTimedOut(CallError):
    """No answer in time: `seconds` were waited for."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(f"{method}: no answer in {seconds:g} s", hint="allow the server more time")
        self.seconds = seconds


class CallLost(CallError):
    """The server, or the way to it, went away before there was an answer: nobody knows what it has done."""


class HttpRefused(CallError):
    """A status that is no answer to a request; `said` is why, in its words, or where it sends us to."""

    def __init__(self, status: int, said: str, *, challenge: str = "") -> None:
        super().__init__(f"the server answered with status {status}{f': {said}' if said else ''}")
        self.status = status
        self.said = said
        self.challenge = challenge


class NotOffered(CallError):
    """The server does not have what was asked for, by its own word: nothing was sent."""
