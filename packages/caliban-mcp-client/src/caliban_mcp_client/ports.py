"""What this package asks of others: for those who check types alone, so that no start makes these classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from caliban_mcp_client.encode import Outgoing
    from caliban_mcp_client.frames import Frame, Scrap
    from caliban_mcp_client.handler import Elicitation, ElicitResult, LogMessage, Root, SamplingRequest
    from caliban_mcp_client.inflight import Call
    from caliban_mcp_client.values import Json


class Receiver(Protocol):
    """Whom a carrier hands what has come."""

    def receive(self, frame: Frame) -> None:
        """A frame has come."""
        ...

    def discard(self, scrap: Scrap) -> None:
        """Something has come that is no frame."""
        ...

    def note(self, words: str, sample: str = "") -> None:
        """Something odd has happened."""
        ...

    def end(self, words: str) -> None:
        """Nothing more will come, and nothing can be sent; `words` say why."""
        ...


class Carrier(Protocol):
    """The way to a server."""

    is_http: bool

    async def deliver(self, message: Outgoing, call: Call | None) -> None:
        """Send a message. Over HTTP that lasts until the answer to `call` has come, or cannot come any more.

        What goes wrong finishes the `call`; nothing is raised. Being cancelled closes the stream of the
        answer.
        """
        ...

    def agreed(self, version: str, *, is_modern: bool) -> None:
        """The handshake is over."""
        ...


class ClientHandler(Protocol):
    """Answers what a server asks.

    Each method may take its time: the call that the question belongs to waits, other calls go on. One that
    raises is answered to the server as an error without its words.
    """

    async def elicit(self, request: Elicitation) -> ElicitResult:
        """What a person says to a form or an address."""
        ...

    async def sample(self, request: SamplingRequest) -> Json | None:
        """The result of `sampling/createMessage`; `None` refuses. Asked only where sampling is on."""
        ...

    async def roots(self) -> tuple[Root, ...]:
        """The directories to work in. Asked only where roots are on."""
        ...

    def log(self, message: LogMessage) -> None:
        """A line of the server's log has come; must return at once."""
        ...
