"""Asks a program for a key: no shell, no input, a session of its own, bounded in time and size."""

from __future__ import annotations

import time
from typing import Final

import anyio

from caliban.compose.host import Host
from caliban.compose.keys import TTL_VARIABLE, KeyHelper
from caliban.errors import KeyFailed
from caliban_common.text import one_line
from caliban_drive.notice import Notice, Report
from caliban_process import Command, Completed, NotStarted, OutputLimit, OutputTooLarge, ProcessError, Runner
from caliban_process.environ import program_environment
from caliban_provider.credential import Credential, Fetch

LIMIT: Final = OutputLimit(head_bytes=65_536, tail_bytes=0, refuse=True)


async def run_key_helper(helper: KeyHelper, runner: Runner, report: Report) -> str:
    """The key that the program prints. Cancelled, it ends the program and its children first.

    Raises `KeyFailed` with the first line of its standard error, without the key.
    """
    async with anyio.create_task_group() as group:
        group.start_soon(_say_when_slow, helper, report)
        answer = await _answer(helper, runner)
        group.cancel_scope.cancel()
    if isinstance(answer, KeyFailed):
        raise answer
    return answer


def key_source(helper: KeyHelper, host: Host, report: Report) -> Fetch[str]:
    """What gives the program's key for as long as it is said to be good; a refused one is asked for anew.

    Raises `KeyFailed`.
    """

    async def fetch(refused: bool) -> Credential[str]:
        key = await run_key_helper(helper, host.runner, report)
        host.masker.add(key)
        return Credential(value=key, expires_at_s=time.time() + helper.ttl_ms / 1000)

    return fetch


async def _say_when_slow(helper: KeyHelper, report: Report) -> None:
    """Tell a person what is waited for."""
    await anyio.sleep(helper.slow_ms / 1000)
    message = f"the program {helper.name} for the key of {helper.provider} takes longer than"
    report(Notice(subtype="slow_key_helper", message=f"{message} {helper.slow_ms:,} ms"))


async def _answer(helper: KeyHelper, runner: Runner) -> str | KeyFailed:
    """The key or why there is none: a task group would wrap what is raised."""
    try:
        return _key(helper, await runner.run(_command(helper)))
    except KeyFailed as error:
        return error
    except OutputTooLarge:
        return _failed(helper, f"printed more than {LIMIT.head_bytes:,} bytes")
    except NotStarted as error:
        reason = error.reason if error.errno is not None else "it has an impossible name"
        return _failed(helper, f"cannot be run: {reason}")
    except ProcessError as error:  # a wrapper that refuses
        return _failed(helper, f"cannot be run: {error.message}")


def _command(helper: KeyHelper) -> Command:
    env = program_environment(helper.environ, helper.listed)
    env |= {"CALIBAN_PROVIDER": helper.provider, TTL_VARIABLE: str(helper.ttl_ms)}
    # Outside of a sandbox: its work is to read what that hides, and to ask servers that it does not reach.
    return Command(
        argv=helper.command, env=env, timeout_s=helper.limit_s, grace_s=0, output=LIMIT, sandboxed=False
    )


def _key(helper: KeyHelper, completed: Completed) -> str:
    """The key in what the program printed. Raises `KeyFailed`."""
    out, err, code = completed.stdout.kept, completed.stderr.kept, completed.exit_code
    if code is None:
        raise _failed(helper, f"did not end within {helper.limit_s:g} s")
    if code != 0:
        reason = _first_line(out, err)
        how = f"exit code {code}" if code > 0 else f"signal {-code}"
        raise _failed(helper, f"failed with {how}" + (f": {reason}" if reason else ""))
    try:
        key = out.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise _failed(helper, "printed something that is not text") from None
    if not key.strip():
        reason = _first_line(b"", err)
        raise _failed(helper, "printed no key" + (f": {reason}" if reason else ""))
    if not key.isprintable():
        raise _failed(helper, "printed more than one line, or control characters")
    return key


def _first_line(out: bytes, err: bytes) -> str:
    """The first line of `err` that says something, without what `out` holds or looks like a key."""
    text = err.decode("utf-8", "replace").strip()
    for word in sorted(out.decode("utf-8", "replace").split(), key=len, reverse=True):
        text = text.replace(word, "…")
    from caliban_permissions.audit.redact import redacted

    return one_line(redacted(text.splitlines()[0]), max_chars=200) if text else ""


def _failed(helper: KeyHelper, what: str) -> KeyFailed:
    return KeyFailed(
        f"api_key_helper: the program {helper.name} for the key of {helper.provider} {what}",
        hint="run it by hand; it must print the key, nothing else, and exit with 0",
    )
