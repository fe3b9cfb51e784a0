"""The sandbox of a session: the wrapper that every program goes through, and how far it holds."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import anyio
from msgspec import Struct
from msgspec.structs import replace

from caliban_process import Command, Completed, OutputLimit, ProcessError, Runner
from caliban_sandbox import backend, probe
from caliban_sandbox.bubblewrap import Cage, arguments, inner_environment
from caliban_sandbox.denied import SandboxDenial, find_denial
from caliban_sandbox.errors import SandboxError, SandboxUnavailable
from caliban_sandbox.ghosts import Ghosts
from caliban_sandbox.policy import SandboxPolicy
from caliban_sandbox.probe import ProbeGround, prepared_ground
from caliban_sandbox.seccomp import seccomp_filter

_OUTPUT = OutputLimit(head_bytes=4096, tail_bytes=0)


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


class Sandbox:
    """Puts every command of a `Runner` into the sandbox that `policy` describes.

    It is found out once, before the first of them, whether the sandbox holds here (`ready`); `runner` runs
    what that needs, outside of it. Where there is none, `is_required` has every command refused; else they
    run as they are, and `warn` is told so once. `environ` is where bubblewrap is looked for. Close it at the
    end.
    """

    def __init__(
        self,
        policy: SandboxPolicy,
        runner: Runner,
        *,
        environ: Mapping[str, str],
        is_required: bool = True,
        warn: Callable[[SandboxState], None] = lambda state: None,
    ) -> None:
        self.policy = policy
        self._runner = runner
        self._environ = environ
        self._is_required = is_required
        self._warn = warn
        self._lock = anyio.Lock()
        self._state: SandboxState | None = None
        self._filter = b""
        self._filter_name = f"filter-{os.urandom(8).hex()}"
        self._scratch: str | None = None

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
        ghosts = Ghosts()
        try:
            try:
                wrapped = self._wrapped(command, self.policy, self._cage(state, self._own_scratch()), ghosts)
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

    def close(self) -> None:
        """Remove the private directory. No command runs any more."""
        scratch, self._scratch = self._scratch, None
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)

    def _own_scratch(self) -> str:
        if self._scratch is None:
            self._scratch = os.path.realpath(tempfile.mkdtemp(prefix="caliban-tmp-"))
        return self._scratch

    def _cage(self, state: SandboxState, scratch: str | None) -> Cage:
        return Cage(
            program=state.program,
            scratch=scratch,
            can_lock=(backend.version_of(state.version) or (0, 0)) >= backend.LOCKS,
            filter_name=self._filter_name,
        )

    def _wrapped(self, command: Command, policy: SandboxPolicy, cage: Cage, ghosts: Ghosts) -> Command:
        env, moved = inner_environment(command.env, unix_sockets=policy.network.unix_sockets)
        place = os.path.realpath(command.cwd or ".")
        return replace(
            command,
            argv=(*arguments(policy, cage, ghosts), *moved, "--chdir", place, "--", *command.argv),
            env=env,
            data={**command.data, self._filter_name: self._filter},
            monitor="bwrap: ",
        )

    async def _tried(self) -> SandboxState:
        """Find the backend and try what it must refuse."""
        state = SandboxState()
        try:
            state = SandboxState(program=backend.find_bubblewrap(self.policy, self._environ))
            machine = os.uname().machine
            self._filter = seccomp_filter(machine, unix_sockets=self.policy.network.unix_sockets)
            state = replace(state, version=await self._version(state.program))
            return replace(state, weaker=await self._probed(state))
        except (SandboxUnavailable, ProcessError) as error:
            words = error.message if error.hint is None else f"{error.message} ({error.hint})"
            return replace(state, problem=words)

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
        said = completed.stdout.text().strip()
        if said != probe.HELD:
            error = completed.stderr.text().strip().splitlines()
            why = said or (error[-1] if error else f"exit code {completed.exit_code}")
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
