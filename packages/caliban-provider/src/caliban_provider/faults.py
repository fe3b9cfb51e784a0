"""What a failing connection means, said once for every way to make one."""

from __future__ import annotations

import ssl

from caliban_provider.errors import BadResponse, NetworkError, StreamIdle, StreamInterrupted


def unconnected(error: BaseException, host: str) -> NetworkError:
    """A connection that was not made, by its root cause."""
    import socket

    import anyio

    causes = _causes(error)
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        failed = NetworkError(
            f"the certificate of {host} is not trusted: {line(error)}",
            hint="behind an intercepting proxy, name its certificate in SSL_CERT_FILE",
        )
        failed.retryable = False
        return failed
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return NetworkError(
            f"the name {host} does not resolve: {line(error)}",
            hint="check the network and the host in the base URL",
        )
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return NetworkError(
            f"{host} refused the connection", hint="check that the server runs and that the port is right"
        )
    if any(isinstance(cause, ssl.SSLError | anyio.EndOfStream) for cause in causes):
        why = next(
            (line(cause) for cause in causes if isinstance(cause, ssl.SSLError)), "it closed the connection"
        )
        return NetworkError(
            f"no encrypted connection to {host}: {why}",
            hint="check the port: is it a server for http:// and not for https://?",
        )
    return NetworkError(
        f"no connection to {host}: {line(error)}", hint="check the network, the proxy and the base URL"
    )


def connect_timeout(host: str, connect_s: float) -> NetworkError:
    """A connection that took too long to make."""
    return NetworkError(
        f"no connection to {host} within {connect_s:g} s",
        hint="check the network, the proxy and the base URL",
    )


def read_timeout(what: str, limit_s: float) -> StreamIdle:
    """A server that says nothing; `what` it did not do."""
    return StreamIdle(
        f"{what} within {limit_s:g} s",
        idle_s=limit_s,
        hint="the provider is silent: try again, or allow a longer wait",
    )


def broken(error: BaseException, host: str) -> NetworkError:
    """A connection that broke before the head of an answer."""
    return NetworkError(f"the connection to {host} broke before an answer: {line(error)}", hint="try again")


def truncated(error: BaseException, host: str) -> StreamInterrupted:
    """A connection that broke in the body of an answer."""
    return StreamInterrupted(
        f"the connection to {host} broke in the middle of the answer: {line(error)}", hint="try again"
    )


def not_http(error: BaseException, host: str) -> BadResponse:
    """An answer that is not HTTP."""
    return BadResponse(
        f"{host} does not answer in HTTP: {line(error)}", hint="check the base URL and its port"
    )


def line(error: BaseException) -> str:
    """The error's text on one printable line; its class where it has none."""
    text = "".join(char if char.isprintable() else " " for char in str(error)[:400])
    return " ".join(text.split())[:200] or type(error).__name__


def _causes(error: BaseException | None) -> list[BaseException]:
    """`error`, what it was raised from, and the members of groups among these."""
    causes: list[BaseException] = []
    queue = [error]
    while queue:
        if (cause := queue.pop()) is None or cause in causes:
            continue
        causes.append(cause)
        queue += [cause.__cause__, cause.__context__]
        queue += getattr(cause, "exceptions", ())
    return causes
