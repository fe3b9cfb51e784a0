"""The proxy of a session: listening for as long as the block lasts."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast

import anyio
from anyio import BrokenResourceError, ClosedResourceError
from anyio.abc import ByteStream, SocketAttribute, SocketListener

from caliban_sandbox.egress.gate import HostGate, resolved
from caliban_sandbox.egress.proxy import FilteringProxy, ForwardingProxy, RefusalTeller
from caliban_sandbox.egress.unix import UnixListener
from caliban_sandbox.egress.values import Dialler, Egress, ProxyLimits, RefusalLog, Resolver
from caliban_sandbox.errors import SandboxError
from caliban_sandbox.policy import NetworkPolicy

Listening: TypeAlias = Literal["socket", "loopback"]

_MAX_PATH_BYTES: Final = 100
"""Systems allow 104 to 108 for the path of a socket."""

_PAUSE_S: Final = 0.1
"""Between two tries while the process has no file descriptor left for a client."""


@asynccontextmanager
async def open_egress(
    network: NetworkPolicy,
    *,
    over: Listening = "socket",
    log: RefusalLog | None = None,
    resolver: Resolver = resolved,
    dial: Dialler = anyio.connect_tcp,
    limits: ProxyLimits = ProxyLimits(),  # noqa: B008 - frozen
) -> AsyncIterator[Egress]:
    """The one way out of a sandbox, open until the block ends.

    It listens on a Unix socket (0600, in a directory of its own, 0700), or with `over="loopback"` on a port
    of 127.0.0.1, where clients must show a token. No variable of the environment leads it to another proxy;
    where `network.proxy_port` is set, what comes by the socket goes to that port as it is.

    Raises `SandboxError` for entries of `network` that are no hosts, and where nothing can be listened on.
    """
    gate = HostGate(network, resolver, limits)
    token = secrets.token_urlsafe(32) if over == "loopback" else None
    proxy: FilteringProxy | ForwardingProxy
    if network.proxy_port is not None:
        if over == "loopback":
            raise SandboxError("a proxy on a port of this machine needs no other one in front of it")
        proxy = ForwardingProxy(network.proxy_port, dial, limits)
    else:
        proxy = FilteringProxy(gate, dial, RefusalTeller(log), limits, token)
    directory = _directory() if over == "socket" else None
    try:
        listener, place = await _listening(directory, token)
        async with aclosing(listener), anyio.create_task_group() as group:
            group.start_soon(_accept, listener, proxy, limits)
            yield place
            group.cancel_scope.cancel()
    except BaseExceptionGroup as errors:
        # What the block raises arrives wrapped by the task group; hand it on as it was raised.
        if len(errors.exceptions) == 1:
            raise errors.exceptions[0] from None
        raise
    finally:
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)


def _directory() -> str:
    """An empty directory that nobody else may look into, with a path short enough for a socket."""
    try:
        directory = tempfile.mkdtemp(prefix="caliban-egress-")
        if len(os.fsencode(directory)) > _MAX_PATH_BYTES:
            Path(directory).rmdir()
            directory = tempfile.mkdtemp(prefix="caliban-egress-", dir="/tmp")
    except OSError as error:
        raise SandboxError(f"the proxy of the sandbox has no place for its socket: {error}") from error
    return directory


async def _listening(
    directory: str | None, token: str | None
) -> tuple[SocketListener | UnixListener, Egress]:
    try:
        if directory is None:
            several = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
            listener = cast("SocketListener", several.listeners[0])
            port = listener.extra(SocketAttribute.local_port)
            return listener, Egress(port=port, token=token)
        path = str(Path(directory) / "proxy")
        return UnixListener(path), Egress(socket=path)
    except OSError as error:
        raise SandboxError(f"the proxy of the sandbox cannot listen: {error}") from error


async def _accept(
    listener: SocketListener | UnixListener, proxy: FilteringProxy | ForwardingProxy, limits: ProxyLimits
) -> None:
    slots = anyio.Semaphore(limits.connections)

    async def serve(client: ByteStream) -> None:
        try:
            async with client:
                await proxy.serve(client)
        finally:
            slots.release()

    async with anyio.create_task_group() as group:
        while True:
            await slots.acquire()
            try:
                client = await listener.accept()
            except ClosedResourceError:
                return
            except (BrokenResourceError, OSError):
                slots.release()
                await anyio.sleep(_PAUSE_S)
                continue
            group.start_soon(serve, client)
