"""The sandbox of a session: the wrapper that every program goes through, and how far it holds."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from caliban_process import Command, Completed, OutputLimit, ProcessError, Runner
from caliban_sandbox import backend, probe
from caliban_sandbox.bubblewrap import TEMPORARY, Cage, arguments, inner_environment
from caliban_sandbox.denied import SandboxDenial, find_denial
from caliban_sandbox.egress.launcher import Launch, launch
from caliban_sandbox.egress.values import Egress, RefusalLog
from caliban_sandbox.errors import SandboxError, SandboxUnavailable
from caliban_sandbox.ghosts import Ghosts
from caliban_sandbox.limits import counts_by_namespace, limited
from caliban_sandbox.mounts import is_below
from caliban_sandbox.policy import SandboxPolicy
from caliban_sandbox.pool import GhostPool
from caliban_sandbox.probe import ProbeGround, prepared_ground
from caliban_sandbox.seccomp import seccomp_filter

if TYPE_CHECKING:
    from caliban_sandbox.scratch import Scratch

_OUTPUT = OutputLimit(head_bytes=4096, tail_bytes=0)


_SOCKET: Final = "/dev/.caliban/proxy"
_SECOND_FILTER: Final = "/dev/.caliban/filter"
"""Where a command sees them: each has a /dev of its own."""


class DataNames(NamedTuple):
    """What stands in arguments for descriptors; nobody can guess them, so no command holds them by chance."""

    filter: str
    second: str


class SandboxState(Struct, frozen=True, kw_only=True):
    """How far the sandbox holds here.

    `problem` says why there is none; `weaker` what a weaker one does not hold. `program` and `version` are
    those of the backend.
    """

    program: str = ""
    version: str = ""
    weaker: str = ""
    problem: str = ""

    @property
    def holds(self) -> bool:
        """Whether programs run in it."""
        return not self.problem

    @property
    def is_full(self) -> bool:
        """Whether it holds the whole profile."""
        return not self.problem and not self.weaker


class SandboxHost(Struct, frozen=True, kw_only=True):
    """What of the machine a sandbox stands on.

    `environ` is where bubblewrap is looked for. `pool` is a directory of our own, hidden by the policy and
    best on the workspace's file system, where empty ones are kept between calls. `platform` is as
    `sys.platform` says it.
    """

    environ: Mapping[str, str] = field(default_factory=dict)
    pool: str | None = None
    platform: str = sys.platform


class Sandbox:
    """Puts every command of a `Runner` into the sandbox that `policy` describes.

    It is found out once, before the first of them, whether the sandbox holds here (`ready`); `runner` runs
    what that needs, outside of it. Where there is none, `is_required` has every command refused; else they
    run as they are, and `warn` is told so once. Close it at the end.
    """

    def __init__(
        self,
        policy: SandboxPolicy,
        runner: Runner,
        *,
        host: SandboxHost,
        is_required: bool = True,
        warn: Callable[[SandboxState], None] = lambda state: None,
    ) -> None:
        self.policy = policy
        self._runner = runner
        self._host = host
        self._is_required = is_required
        self._warn = warn
        self._pool = GhostPool(host.pool)
        self._lock = anyio.Lock()
        self._state: SandboxState | None = None
        self._egress: Egress | None = None
        self._names = DataNames(*(f"{word}-{os.urandom(8).hex()}" for word in ("filter", "second")))
        self._scratch: Scratch | None = None

    @property
    def is_full(self) -> bool:
        """Whether commands are known to run in the whole profile: False before `ready`."""
        return self._state is not None and self._state.is_full

    async def ready(self) -> SandboxState:
        """How far it holds, found out by trying (SB2); once, and `warn` hears of a weaker or missing one."""
        async with self._lock:
            if self._state is None:
                self._state = await self._tried()
                if not self._state.is_full:
                    self._warn(self._state)
            return self._state

    @asynccontextmanager
    async def wrap(self, command: Command) -> AsyncIterator[Command]:
        """`command` in the sandbox, for as long as it runs. Raises `ProcessError` where that cannot be."""
        if not command.sandboxed:
            yield command
            return
        state = await self.ready()
        if state.problem:
            if self._is_required:
                raise ProcessError(f"nothing runs without the sandbox: {state.problem}")
            yield command
            return
        ghosts = Ghosts(self._pool)
        try:
            try:
                wrapped = self._held(command, state, ghosts)
            except SandboxError as error:
                raise ProcessError(f"the sandbox cannot hold: {error.message}", hint=error.hint) from error
            yield wrapped
        finally:
            ghosts.close()

    def denial(self, output: str) -> SandboxDenial | None:
        """What the sandbox refused a command that failed with this output; `None` where nothing says so."""
        if self._state is None or not self._state.holds:
            return None
        return find_denial(output, self.policy)

    @asynccontextmanager
    async def opened(self, log: RefusalLog | None = None) -> AsyncIterator[None]:
        """Open the way to the hosts that the policy lists, and put everything away at the end of the block.

        `log` hears of each host that was refused. Raises `SandboxError` for hosts that are none.
        """
        network = self.policy.network
        try:
            if not network.allowed_hosts and network.proxy_port is None:
                yield
                return
            from caliban_sandbox.egress import open_egress

            if self._is_mac and network.proxy_port is not None:
                yield  # the profile opens that port itself
                return
            async with open_egress(
                network, over="loopback" if self._is_mac else "socket", log=log
            ) as self._egress:
                yield
        finally:
            self._egress = None
            self.close()

    def close(self) -> None:
        """Remove the private directory. No command runs any more."""
        scratch, self._scratch = self._scratch, None
        if scratch is not None:
            scratch.close()

    def preview(self) -> tuple[str, ...]:
        """The arguments of bubblewrap for this policy, up to the program; nothing is started.

        Where something stands only while a command runs (the directory in the place of /tmp, the filter), a
        name stands for it. Raises `SandboxError`.
        """
        ghosts = Ghosts(self._pool)
        program = self.policy.backend or f"{backend.USUAL[0]}/{backend.NAME}"
        cage = Cage(program=program, scratch="SCRATCH", can_lock=True, filter_name="FILTER")
        try:
            return (*arguments(self.policy, cage, ghosts), "--")
        finally:
            ghosts.close()

    @property
    def _is_mac(self) -> bool:
        return self._host.platform == "darwin"

    def _held(self, command: Command, state: SandboxState, ghosts: Ghosts) -> Command:
        """`command` in the sandbox of this system."""
        scratch = self._own_scratch()
        if not self._is_mac:
            return self._wrapped(command, self.policy, self._cage(state, scratch), ghosts)
        from caliban_sandbox.macos import under_seatbelt

        return under_seatbelt(command, self.policy, state.program, scratch=scratch, egress=self._egress)

    def _own_scratch(self) -> str:
        if self._scratch is None:
            from caliban_sandbox.scratch import make_scratch

            self._scratch = make_scratch()
        return self._scratch.path

    def _cage(self, state: SandboxState, scratch: str | None) -> Cage:
        return Cage(
            program=state.program,
            scratch=scratch,
            can_lock=(backend.version_of(state.version) or (0, 0)) >= backend.LOCKS,
            filter_name=self._names.filter,
        )

    def _wrapped(self, command: Command, policy: SandboxPolicy, cage: Cage, ghosts: Ghosts) -> Command:
        unix = policy.network.unix_sockets
        env, moved = inner_environment(command.env, unix_sockets=unix)
        data = {self._names.filter: _filter(unix_sockets=unix)}
        way = Launch()
        shown = self._program(command.argv[0])
        if self._egress is not None and policy is self.policy:
            # The bridge to the proxy is started before sockets with a path are closed.
            way = launch(self._egress, socket=_SOCKET, filter_path=None if unix else _SECOND_FILTER)
            shown += self._shown(self._egress, way)
            data |= {
                self._names.filter: _filter(unix_sockets=True),
                self._names.second: _filter(unix_sockets=unix),
            }
        place = os.path.realpath(command.cwd or ".")
        cage = replace(cage, shown=shown)
        outer = (*arguments(policy, cage, ghosts), *moved, "--chdir", place, "--")
        return replace(
            command,
            argv=(*outer, *way.prefix, *_limited(command.argv, policy)),
            env={**env, **way.environment},
            data={**command.data, **data},
            monitor="bwrap: ",
        )

    def _program(self, path: str) -> tuple[str, ...]:
        """The program itself, where only some of the disk is shown, or another /tmp: it is ours to choose."""
        files = self.policy.files
        is_hidden = files.readable is not None or path.startswith(f"{TEMPORARY}/")
        if (
            not is_hidden
            or not os.path.isabs(path)
            or is_below(path, (*files.writable, *(files.readable or ())))
        ):
            return ()
        return ("--ro-bind-try", os.path.realpath(path), path)

    def _shown(self, egress: Egress, way: Launch) -> tuple[str, ...]:
        """What the bridge needs to see: its socket, the filter, and what it is made of."""
        needed = (word for path in way.needed for word in ("--ro-bind", path, path))
        socket = ("--ro-bind", str(egress.socket), _SOCKET)
        return (*socket, "--ro-bind-data", self._names.second, _SECOND_FILTER, *needed)

    async def _tried(self) -> SandboxState:
        """Find the backend and try what it must refuse."""
        state = SandboxState()
        try:
            if self._is_mac:
                return await self._tried_seatbelt()
            program = backend.find_bubblewrap(self.policy, self._host.environ, self._host.platform)
            state = SandboxState(program=program)
            _filter(unix_sockets=False)
            state = replace(state, version=await self._version(state.program))
            return replace(state, weaker=await self._probed(state))
        except (SandboxUnavailable, ProcessError) as error:
            words = error.message if error.hint is None else f"{error.message} ({error.hint})"
            return replace(state, problem=words)

    async def _tried_seatbelt(self) -> SandboxState:
        from caliban_sandbox.macos import WEAKER, find_sandbox_exec, try_seatbelt

        program = find_sandbox_exec(self.policy)
        with tempfile.TemporaryDirectory(prefix="caliban-probe-") as place:
            await try_seatbelt(program, self._runner, Path(place))
        return SandboxState(program=program, version="Seatbelt", weaker=WEAKER)

    async def _version(self, program: str) -> str:
        command = Command(
            argv=(program, "--version"), env={}, timeout_s=probe.LIMIT_S, sandboxed=False, output=_OUTPUT
        )
        text = (await self._runner.run(command)).stdout.text().strip()
        version = backend.version_of(text)
        if version is None or version < backend.OLDEST:
            raise SandboxUnavailable(
                f"{program} is too old, or no bubblewrap: {text[:80] or 'it says nothing'}"
            )
        return text

    async def _probed(self, state: SandboxState) -> str:
        """What a weaker sandbox does not hold; empty for the whole one. Raises `SandboxUnavailable`."""
        with tempfile.TemporaryDirectory(prefix="caliban-probe-") as place, probe.listener() as port:
            completed = await self._play(state, prepared_ground(place), port.getsockname()[1])
        output = completed.stdout.text().strip()
        if output != probe.HELD:
            error = completed.stderr.text().strip().splitlines()
            why = output or (error[-1] if error else f"exit code {completed.exit_code}")
            raise SandboxUnavailable(f"{state.program} does not hold here: {why[:300]}")
        if self.policy.nested:
            return "programs can make user namespaces of their own (enable_weaker_nested_sandbox)"
        return (
            ""
            if self._cage(state, None).can_lock
            else f"{state.version} cannot keep programs from making user namespaces"
        )

    async def _play(self, state: SandboxState, ground: ProbeGround, port: int) -> Completed:
        """Run the probe on `ground`; `port` is one of the host."""
        cage = self._cage(state, None)
        argv = probe.probe_arguments(
            ground,
            port,
            locked=cage.can_lock and not self.policy.nested,
            unix_sockets=self.policy.network.unix_sockets,
        )
        command = Command(
            argv=argv, cwd="/", env={}, timeout_s=probe.LIMIT_S, output=_OUTPUT, sandboxed=False, grace_s=0
        )
        ghosts = Ghosts()
        try:
            return await self._runner.run(self._wrapped(command, ground.policy(self.policy), cage, ghosts))
        finally:
            ghosts.close()


def _limited(argv: tuple[str, ...], policy: SandboxPolicy) -> tuple[str, ...]:
    return limited(argv, policy.limits, counts=counts_by_namespace(os.uname().release, nested=policy.nested))


def _filter(*, unix_sockets: bool) -> bytes:
    return seccomp_filter(os.uname().machine, unix_sockets=unix_sockets)
