"""Commands under Seatbelt: the same policy, held by sandbox-exec. **Never run on macOS** (see `seatbelt`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from caliban_process import Command, OutputLimit, Runner
from caliban_sandbox.bubblewrap import inner_environment
from caliban_sandbox.egress.launcher import launch, proxy_variables
from caliban_sandbox.egress.values import Egress
from caliban_sandbox.errors import SandboxUnavailable
from caliban_sandbox.limits import limited
from caliban_sandbox.policy import SandboxPolicy
from caliban_sandbox.seatbelt import seatbelt_profile
from caliban_sandbox.seatbelt.profile import PROGRAM

WEAKER: Final = "the profile for macOS was written without a machine to try it on"
_LIMIT_S: Final = 10.0
_TRIAL: Final = "echo tried > caliban-trial"


def find_sandbox_exec(policy: SandboxPolicy) -> str:
    """Where sandbox-exec is. Raises `SandboxUnavailable`."""
    program = policy.backend or PROGRAM
    if program.startswith("/") and os.access(program, os.X_OK) and not Path(program).is_dir():
        return program
    raise SandboxUnavailable(
        f"{program} is not there, or no program that can be run", hint="it is a part of macOS"
    )


async def try_seatbelt(program: str, runner: Runner, place: Path) -> None:
    """Raise `SandboxUnavailable` unless a program runs under a profile, and does not write in `place`."""
    policy = SandboxPolicy()
    for line, must_fail in (("true", False), (_TRIAL, True)):
        command = Command(
            argv=("/bin/sh", "-c", line),
            cwd=str(place),
            env={"PATH": "/usr/bin:/bin"},
            timeout_s=_LIMIT_S,
            output=OutputLimit(head_bytes=4096, tail_bytes=0),
            sandboxed=False,
        )
        completed = await runner.run(under_seatbelt(command, policy, program, scratch=None, egress=None))
        if (completed.exit_code != 0) is not must_fail or _is_written(place):
            what = "lets a program write outside" if must_fail else "does not let a program run"
            raise SandboxUnavailable(f"{program} {what}: exit code {completed.exit_code}")


def _is_written(place: Path) -> bool:
    return any(place.iterdir())


def under_seatbelt(
    command: Command, policy: SandboxPolicy, program: str, *, scratch: str | None, egress: Egress | None
) -> Command:
    """`command` under the profile of `policy`; `scratch` is the directory for its temporary files.

    Raises `SandboxError` for a policy that cannot be said in a profile.
    """
    files = policy.files
    if scratch is not None:
        files = replace(files, writable=(*files.writable, scratch))
    profile = seatbelt_profile(
        replace(policy, files=files), egress_port=None if egress is None else egress.port
    )
    env, moved = inner_environment(command.env, unix_sockets=policy.network.unix_sockets)
    env.update(zip(moved[1::3], moved[2::3], strict=True))
    if scratch is not None:
        env.update(TMPDIR=scratch, TMP=scratch, TEMP=scratch, XDG_CACHE_HOME=f"{scratch}/.cache")
    if policy.network.proxy_port is not None:
        env.update(proxy_variables(f"http://127.0.0.1:{policy.network.proxy_port}"))
    elif egress is not None and egress.token is not None:
        env.update(launch(egress).environment)
    # Processes are counted for the whole user there: that limit would end other programs' work.
    argv = limited(command.argv, policy.limits, counts=False)
    return replace(command, argv=(*profile.prefix(program), *argv), env=env)
