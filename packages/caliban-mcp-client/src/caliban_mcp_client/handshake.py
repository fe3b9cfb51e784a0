"""The first questions to a server: which era is its own, and what it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import anyio
from msgspec import Struct

from caliban_common.text import one_line
from caliban_mcp_client import encode
from caliban_mcp_client.entries import text
from caliban_mcp_client.errors import (
    CallError,
    CallLost,
    CallRefused,
    CallTimedOut,
    ConnectError,
    ConnectKind,
    HttpRefused,
    McpError,
    ProtocolError,
)
from caliban_mcp_client.groups import PlainGroup
from caliban_mcp_client.inflight import Call
from caliban_mcp_client.link import CallTiming, Link
from caliban_mcp_client.target import LATEST, LEGACY, Era, ServerOptions, Verdict
from caliban_mcp_client.values import ServerInfo

_DISCOVER: Final = "server/discover"
_INITIALIZE: Final = "initialize"
_PAUSES_S: Final = (0.25, 1.0, 4.0)
_NO_SUCH_ADDRESS: Final = (400, 404, 405)
_TOO_MANY: Final = 429
_FOREVER: Final = float("inf")
_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"


class Anew(Struct, frozen=True, kw_only=True):
    """The connection is of no more use; on another one, what `verdict` says is to be tried.

    `why` is what was said to this one, for words where the other one comes to nothing either.
    """

    verdict: Verdict
    why: str = ""


Outcome: TypeAlias = ServerInfo | Anew


class Handshake:
    """Finds the era of the server behind `link`, and begins the conversation.

    With `verdict` it begins with what was found before. `may_be_old` says whether the older way over HTTP
    is left to be tried.
    """

    def __init__(
        self, link: Link, options: ServerOptions, verdict: Verdict | None, *, may_be_old: bool = False
    ) -> None:
        self._link = link
        self._options = options
        self._verdict = verdict
        self._may_be_old = may_be_old

    async def run(self) -> Outcome:
        """What the server says of itself, once both sides have begun. Raises `ConnectError`."""
        protocol = self._options.protocol
        era = self._verdict.era if self._verdict is not None and protocol == "auto" else None
        if protocol == "legacy" or era == "legacy":
            return await self._initialize()
        from caliban_mcp_client import judge

        version = self._verdict.protocol_version if self._verdict is not None else LATEST
        return await self._discover(version if version in judge.MODERN else LATEST)

    async def _discover(self, version: str, *, is_second: bool = False) -> Outcome:
        call = self._link.in_flight.begin(_DISCOVER, _FOREVER)
        try:
            return await self._probed(call, version, is_second=is_second)
        finally:
            self._link.in_flight.drop(call)

    async def _probed(self, call: Call, version: str, *, is_second: bool) -> Outcome:
        """Ask which versions there are; a program that is silent is asked the other way beside it."""
        from caliban_mcp_client import judge

        silence_s = _FOREVER if self._link.is_http else self._options.probe_timeout_s
        params = {"_meta": {f"{encode.PREFIX}protocolVersion": version}}
        timing = CallTiming(idle_s=_FOREVER, limit_s=silence_s, is_handshake=True)
        result: dict[str, Any] | None = None
        try:
            result = await self._persistently(call, params, timing)
            judgment = judge.judged_result(result)
        except CallTimedOut:
            return await self._either(call)
        except CallLost as error:
            if self._link.is_http:
                raise _unreachable(error) from error
            self._demand_auto(error)
            return Anew(verdict=Verdict(era="legacy", protocol_version=LEGACY[0]))
        except McpError as error:
            judgment = judge.judged_error(error, is_http=self._link.is_http)
        match judgment:
            case judge.Speaks():
                return self._modern(result or {}, judgment.version)
            case judge.AskAgain() if not is_second:
                return await self._discover(judgment.version, is_second=True)
            case judge.NothingInCommon():
                raise _no_version(judgment.supported)
            case judge.Outage():
                raise _unreachable(judgment.error) from judgment.error
            case _:
                self._demand_auto(None)
                return await self._initialize()

    async def _persistently(self, call: Call, params: dict[str, Any], timing: CallTiming) -> dict[str, Any]:
        """Ask; over HTTP again after a while where nothing answered. Raises `McpError`."""
        if not self._link.is_http:
            return await self._link.answered(call, params, timing)
        for pause_s in _PAUSES_S:
            try:
                return await self._link.request(_DISCOVER, params, timing)
            except (CallLost, HttpRefused) as error:
                if isinstance(error, HttpRefused) and error.status < 500:
                    raise
                self._link.note("an outage", error.message)
            await anyio.sleep(pause_s)
        return await self._link.request(_DISCOVER, params, timing)

    async def _either(self, probe: Call) -> Outcome:
        """Begin the legacy way, still taking a late answer to the probe: a slow start is no era."""
        self._demand_auto(None)
        outcome: Outcome | None = None
        async with PlainGroup() as group:

            async def late() -> None:
                nonlocal outcome
                info = await self._late(probe)
                if outcome is None and info is not None:
                    outcome = info
                    group.cancel_scope.cancel()

            group.start_soon(late)
            begun = await self._initialize()
            outcome = begun if outcome is None else outcome
            group.cancel_scope.cancel()
        if isinstance(outcome, ServerInfo):  # both may have come at once: what counts is what is told
            self._link.agree(outcome.protocol_version, is_modern=outcome.era == "modern")
        assert outcome is not None
        return outcome

    async def _late(self, probe: Call) -> ServerInfo | None:
        """What an answer to the probe says that came after its time: who is modern may be slow."""
        from caliban_mcp_client import judge

        await probe.done.wait()
        result, judgment = probe.result, None
        if probe.error is not None:
            judgment = judge.judged_error(probe.error, is_http=False)
        if isinstance(judgment, judge.AskAgain):
            params = {"_meta": {f"{encode.PREFIX}protocolVersion": judgment.version}}
            timing = CallTiming(idle_s=_FOREVER, limit_s=_FOREVER, is_handshake=True)
            try:
                result = await self._link.request(_DISCOVER, params, timing)
            except McpError:
                return None
        judgment = judge.judged_result(result) if isinstance(result, dict) else None
        return self._modern(result, judgment.version) if isinstance(judgment, judge.Speaks) else None

    async def _initialize(self) -> Outcome:
        """Begin the legacy way. Raises `ConnectError`."""
        params = {
            "protocolVersion": LEGACY[0],
            "capabilities": encode.declared(self._options),
            "clientInfo": encode.client_info(self._options),
        }
        timing = CallTiming(idle_s=_FOREVER, limit_s=_FOREVER, is_handshake=True)
        try:
            result = await self._link.request(_INITIALIZE, params, timing)
        except CallRefused as error:
            return await self._refused(error)
        except HttpRefused as error:
            if self._may_be_old and error.status in _NO_SUCH_ADDRESS:
                verdict = Verdict(era="legacy", protocol_version=LEGACY[-1], kind="sse")
                return Anew(verdict=verdict, why=error.message)
            raise _unreachable(error) from error
        except CallLost as error:
            reason = self._link.reason or error.message
            words = f"no handshake: {reason}" if self._link.is_http else f"{reason} before it answered"
            kind: ConnectKind = "unreachable" if self._link.is_http else "exited"
            raise ConnectError(kind, words, hint=error.hint) from error
        except (CallError, ProtocolError) as error:
            raise ConnectError("not_mcp", error.message, hint=error.hint) from error
        version = result.get("protocolVersion")
        if version not in LEGACY:
            raise _no_version((version,) if isinstance(version, str) else ())
        self._link.agree(version, is_modern=False)
        await self._link.notify("notifications/initialized", {})
        return server_info(result, "legacy", version)

    async def _refused(self, error: CallRefused) -> Outcome:
        from caliban_mcp_client import judge

        version = judge.named_modern(error)
        if version is not None and self._options.protocol != "legacy":
            return await self._discover(version, is_second=True)
        hint = "set its protocol to auto" if version is not None else None
        kind: ConnectKind = "version" if version is not None else "not_mcp"
        raise ConnectError(kind, error.message, hint=hint) from error

    def _modern(self, result: dict[str, Any], version: str) -> ServerInfo:
        self._link.agree(version, is_modern=True)
        return server_info(result, "modern", version)

    def _demand_auto(self, error: McpError | None) -> None:
        """Raise `ConnectError` where a person wants the modern era and nothing else."""
        if self._options.protocol not in ("auto", "legacy"):
            raise ConnectError(
                "version",
                f"the server does not speak version {self._options.protocol} of the protocol",
                hint="set its protocol to auto",
            ) from error


def server_info(result: Mapping[str, Any], era: Era, version: str) -> ServerInfo:
    """What `initialize` or `server/discover` answered; what does not fit is as if it were not there."""
    meta = result.get("_meta")
    who = result.get("serverInfo") if era == "legacy" else None
    if not isinstance(who, dict) and isinstance(meta, dict):
        who = meta.get(_SERVER_INFO)
    if not isinstance(who, dict):
        who = result.get("serverInfo")
    who = who if isinstance(who, dict) else {}
    capabilities = result.get("capabilities")
    number = who.get("version")
    return ServerInfo(
        era=era,
        protocol_version=version,
        capabilities=capabilities if isinstance(capabilities, dict) else {},
        instructions=text(result, "instructions"),
        name=text(who, "name"),
        title=text(who, "title"),
        version=str(number) if isinstance(number, str | int | float) and number is not True else "",
    )


def _no_version(theirs: tuple[str, ...]) -> ConnectError:
    from caliban_mcp_client import judge

    named = ", ".join(one_line(version, max_chars=40) for version in theirs[:10]) or "none that it names"
    ours = ", ".join((*judge.MODERN, *LEGACY))
    return ConnectError("version", f"the server speaks versions {named} of the protocol, and we speak {ours}")


def _unreachable(error: McpError) -> ConnectError:
    if isinstance(error, ConnectError):
        return error
    if isinstance(error, HttpRefused) and error.status in (401, 403):
        return ConnectError(
            "unauthorized",
            f"the server wants a login (status {error.status}{f': {error.said}' if error.said else ''})",
            hint="log in to it, or give it a header with a token",
        )
    if isinstance(error, HttpRefused) and error.status < 400:
        return ConnectError(
            "refused",
            f"the server sends us on to {error.said or 'nowhere'} with status {error.status}, which is not "
            "followed",
            hint="write that address as its url, if it is the server's",
        )
    hint = error.hint
    if isinstance(error, HttpRefused) and (error.status >= 500 or error.status == _TOO_MANY):
        hint = "it is overloaded, or not there behind its proxy: try again later"
    return ConnectError("unreachable", error.message, hint=hint)
