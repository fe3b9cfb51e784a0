"""The servers of a run, made from what settings say of them."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio.abc import TaskGroup, TaskStatus
from msgspec import Struct

from caliban.cli.options import Options
from caliban.compose.host import Host
from caliban.compose.permissions import Permissions
from caliban.compose.servers.handler import AskedHandler
from caliban.compose.servers.parts import AskedParts
from caliban.compose.servers.written import servers_for
from caliban.errors import ConfigError
from caliban.version import VERSION
from caliban_common.hook import Hooks
from caliban_common.paths import cache_dir, data_dir
from caliban_common.tool import ToolSpec
from caliban_drive.notice import Notice, Report
from caliban_mcp import Connector, ListCache, PinStore, ServerConfig, ServerFleet, ServerParts, ServerStatus
from caliban_mcp.names import full_name
from caliban_mcp.status import ServerNews
from caliban_mcp.variables import from_environment
from caliban_provider.http import HttpClient
from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban_common.message import ResultPart
    from caliban_images import MediaLimits
    from caliban_mcp import RunServer
    from caliban_mcp.elicit import Elicitor
    from caliban_mcp_client.authorization import Authorization
    from caliban_mcp_client.hosted import HostPipe
    from caliban_plugins import Plugin

WAIT_S: Final = 2.0
CONNECT_S: Final = 10.0
HOSTED_S: Final = 30.0
START_VARIABLES: Final = ("CALIBAN_MCP_TIMEOUT", "MCP_TIMEOUT")
TOOL_VARIABLES: Final = ("CALIBAN_MCP_TOOL_TIMEOUT", "MCP_TOOL_TIMEOUT")


class ServerInputs(Struct, frozen=True, kw_only=True):
    """What the servers of a run are made of."""

    options: Options
    settings: Settings
    workspace: Path
    host: Host
    permissions: Permissions
    report: Report
    plugins: tuple[Plugin, ...] = ()
    hooks: Hooks | None = None
    elicitor: Elicitor | None = None
    session_id: Callable[[], str] = str
    hosted: Callable[[str], HostPipe] | None = None
    media: Callable[[], MediaLimits] | None = None


class RunServers(Struct, frozen=True, kw_only=True):
    """The servers of a run, and how long it waits for those that it knows nothing of, or that a host has.

    `judge` says why a server is not to be used, or `None`.
    """

    fleet: ServerFleet
    judge: Callable[[ServerConfig], str | None]
    wait_s: float
    hosted_wait_s: float
    report: Report

    async def ready(self) -> None:
        """Wait for what a first request has to wait for, and name what it goes without.

        Those that have to be there are waited for as long as they may take. Raises `ConfigError` without
        them.
        """
        fleet = self.fleet
        required = [
            one
            for one in fleet.servers
            if one.config.required and not one.config.disabled and not is_hosted(one.config)
        ]
        if required:
            await fleet.settle(required, None)
            lacking = next((one for one in required if one.state != "connected"), None)
            if lacking is not None:
                raise ConfigError(
                    f"the MCP server {lacking.name} is required and is not there: {lacking.status.words}",
                    hint=f"caliban mcp doctor {lacking.name} says more",
                )
        unknown = [
            one
            for one in fleet.servers
            if not one.is_known and not one.was_silent and not is_hosted(one.config)
        ]
        missing: list[RunServer] = []
        for one in await fleet.settle(unknown, self.wait_s):
            if one.is_cached:
                one.asked_in_vain()
            else:
                missing.append(one)
        late = [*missing, *(one for one in fleet.servers if one.was_silent and not one.is_settled)]
        self._tell_late(late)
        fleet.begin()

    def _tell_late(self, late: Sequence[RunServer]) -> None:
        if late:
            names = ", ".join(one.name for one in late)
            words = f"the tools of MCP servers are not there yet, and come with a later turn: {names}"
            self.report(
                Notice(subtype="mcp_pending", message=words, hint="mcp_wait in settings waits longer")
            )

    @property
    def lives_in_host(self) -> bool:
        """Whether a server of them does."""
        return any(is_hosted(one.config) for one in self.fleet.servers)

    async def hosted_ready(self) -> None:
        """Wait for those that live in the host, which can answer once its frames are read."""
        hosted = [one for one in self.fleet.servers if is_hosted(one.config)]
        self._tell_late(await self.fleet.settle(hosted, self.hosted_wait_s))

    async def refresh(self) -> None:
        """Begin anew with those that somebody has logged in to meanwhile, and wait a moment for them."""
        revived = self.fleet.revive()
        if revived:
            await self.fleet.settle(revived, max(self.wait_s, WAIT_S))

    def tool_names(self) -> frozenset[str]:
        """The names of the tools of servers now."""
        return frozenset(tool.spec.name for tool in self.fleet.tools())

    def news(self) -> tuple[str, ...]:
        """What servers say of themselves, each once: for the model."""
        return self.fleet.news()

    @asynccontextmanager
    async def opened(self, tasks: TaskGroup | None) -> AsyncIterator[None]:
        """Connected for the length of a block; behind it nothing of them is left.

        The connections live in `tasks`, where there are some: a face opens the app in a scope of its own.
        """
        if tasks is None:
            async with self.fleet.opened():
                yield
            return
        over, done = anyio.Event(), anyio.Event()

        async def hold(*, task_status: TaskStatus[None]) -> None:
            try:
                async with self.fleet.opened():
                    task_status.started()
                    await over.wait()
            finally:
                done.set()

        await tasks.start(hold)
        try:
            yield
        finally:
            over.set()
            with anyio.CancelScope(shield=True):
                await done.wait()


def build_servers(inputs: ServerInputs, *, empty: bool = False) -> RunServers | None:
    """The servers of a run, not connected yet; `None` without any, unless some are to come (`empty`).

    What is wrong with an entry is reported. Raises `ConfigError` where one that is required cannot be used.
    """
    options, settings, report = inputs.options, inputs.settings, inputs.report
    written = servers_for(options, settings, inputs.plugins)
    for problem in written.problems:
        report(Notice(subtype="mcp_server", message=problem))
    used: list[ServerConfig] = []
    idle: list[ServerStatus] = []
    for config in written.configs:
        _refuse_homeless(config, inputs)
        why = unusable(config, inputs)
        if why is None:
            used.append(config)
            continue
        idle.append(ServerStatus(name=config.name, state="disabled", scope=config.scope, words=why))
        if config.required and not config.disabled:
            raise ConfigError(f"the MCP server {config.name} is required, and {why}")
    if not used and not idle and not empty:
        return None
    connector = build_connector(inputs)
    cache, pins = ListCache(cache_dir() / "mcp"), PinStore(pins_dir())

    def look(data: bytes) -> ResultPart | str | None:
        from caliban.compose.servers.pictures import shown_picture

        return shown_picture(data, inputs.media)

    def parts(config: ServerConfig) -> ServerParts:
        lists, accepted = _unkept(cache, pins) if is_hosted(config) else (cache, pins)
        return ServerParts(
            connect=lambda verdict: connector.open(config, verdict),
            cache=lists,
            key="" if is_hosted(config) else connector.key(config),
            pins=accepted,
            report=lambda event: _tell(event, report, is_written=is_written(config)),
            logins=logins_stamp if config.may_log_in else no_logins,
            look=look,
        )

    wait = settings.get("mcp_wait")
    return RunServers(
        fleet=ServerFleet(used, parts, idle=idle),
        judge=lambda config: unusable(config, inputs),
        wait_s=WAIT_S if wait is None else float(wait),
        hosted_wait_s=HOSTED_S if wait is None else float(wait),
        report=report,
    )


def _unkept(cache: ListCache, pins: PinStore) -> tuple[ListCache, PinStore]:
    """What stands for both where nothing is kept."""
    from caliban_mcp.passing import NoLists, OpenPins

    return NoLists(cache.directory), OpenPins(pins.directory)


def _tell(event: ServerNews, report: Report, *, is_written: bool = True) -> None:
    """Report what a person should hear."""
    from caliban.compose.servers.told import notice_of

    report(notice_of(event, is_written=is_written))


def is_hosted(config: ServerConfig) -> bool:
    """Whether it lives in the program that has started us."""
    return config.kind == "sdk"


def is_written(config: ServerConfig) -> bool:
    """Whether a file has the entry, so that commands know it without a flag."""
    return config.scope != "cli" or bool(config.place)


def unusable(config: ServerConfig, inputs: ServerInputs) -> str | None:
    """Why a server is not to be used, by lists of settings or by a rule that denies all of it; or `None`."""
    settings = inputs.settings
    if settings.get("denied_mcp_servers") or settings.get("allowed_mcp_servers") is not None:
        from caliban.compose.servers.lists import listed_problem

        problem = listed_problem(config, settings, _variables(inputs))
        if problem is not None:
            return problem
    probe = ToolSpec(name=full_name(config.name, "0_any_tool"), description="", input_schema={})
    return None if inputs.permissions.offers(probe) else "a rule denies all of it"


def _variables(inputs: ServerInputs) -> Callable[[str], str | None]:
    """What the variables of entries stand for in this run."""
    own = {name: str(inputs.workspace) for name in ("CALIBAN_PROJECT_DIR", "CLAUDE_PROJECT_DIR")}
    return from_environment(inputs.host.environ, own)


def _refuse_homeless(config: ServerConfig, inputs: ServerInputs) -> None:
    """Raise `ConfigError` for a server that lives in a program, where no program is reached."""
    if not is_hosted(config) or inputs.hosted is not None:
        return
    if inputs.options.session.record is not None:
        why, hint = "--record cannot keep what that program says to it", None
    else:
        why = "no program reads and writes the frames of this run"
        hint = "--input-format stream-json and --output-format stream-json are for one that does"
    words = f"--mcp-config: the MCP server {config.name} lives in a program (type sdk): {why}"
    raise ConfigError(words, hint=hint)


def build_connector(inputs: ServerInputs) -> Connector:
    """What opens conversations for a run. Raises `ConfigError` for a variable that is no number."""
    host, settings, workspace = inputs.host, inputs.settings, inputs.workspace
    asked = AskedParts(
        workspace=workspace,
        report=lambda event: _tell(event, inputs.report),
        hooks=inputs.hooks,
        elicitor=inputs.elicitor,
        permissions=inputs.permissions,
        session_id=inputs.session_id,
    )
    return Connector(
        workspace=workspace,
        environ=host.environ,
        added_env=settings.get("env") or {},
        runner=host.runner,
        client=lambda: HttpClient(connect_s=CONNECT_S, read_s=math.inf),
        value_of=_variables(inputs),
        learn=host.masker.add,
        handler=lambda name: AskedHandler(name, asked),
        version=VERSION,
        login=lambda config, url, settled: _login(config, url, settled, host),
        hosted=inputs.hosted,
        start_timeout_s=_seconds(host.environ, START_VARIABLES, 60.0),
        tool_timeout_s=_seconds(host.environ, TOOL_VARIABLES, 300.0),
    )


def _login(config: ServerConfig, url: str, settled: Mapping[str, Any], host: Host) -> Authorization:
    from caliban.compose.servers.logins import login_of

    return login_of(config, url, settled, host)


def logins_stamp() -> object:
    """How the file of all logins is now: another value once somebody has logged in."""
    path = data_dir() / "mcp-tokens.json"
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def no_logins() -> object:
    """For servers that nobody logs in to."""
    return None


def pins_dir() -> Path:
    """Where it is kept what was let in of servers."""
    return data_dir() / "mcp" / "pins"


def _seconds(environ: Mapping[str, str], names: tuple[str, ...], default: float) -> float:
    """A limit that a variable gives in milliseconds."""
    for name in names:
        text = environ.get(name, "").strip()
        if not text:
            continue
        if not text.isdigit() or not 0 < int(text) <= 86_400_000:
            raise ConfigError(f"{name} must be a number of milliseconds, not {text[:40]!r}")
        return int(text) / 1000
    return default
