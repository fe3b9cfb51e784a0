"""Logins that an identity provider manages: whether an entry says all that they need, and its ID token."""

from __future__ import annotations

import os
import stat
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from anyio import to_thread

from caliban_common.errors import CalibanError
from caliban_common.files import BINARY, NONBLOCK, failed, read_opened
from caliban_mcp.config import ServerConfig
from caliban_mcp.errors import ServerMisconfigured
from caliban_mcp.printout import printed
from caliban_mcp_client.errors import LoginFailed
from caliban_process import Runner

MAX_BYTES: Final = 64 << 10
FILE: Final = "idp_id_token_file"
VARIABLE: Final = "idp_id_token_env"
HELPER: Final = "idp_id_token_helper"
SOURCES: Final = (FILE, VARIABLE, HELPER)


def check_identity(config: ServerConfig, settled: Mapping[str, Any]) -> None:
    """Raises `ServerMisconfigured` for what is missing, or stands there in vain, by its name."""
    given = sorted(name for name, value in settled.items() if name.startswith("idp_") and value)
    if settled.get("grant") != "enterprise_managed":
        raise ServerMisconfigured(
            f"its oauth_config has {', '.join(given) or 'idp_ keys'}, which count with grant = "
            '"enterprise_managed" alone'
        )
    if not config.is_from_person:
        raise ServerMisconfigured(
            "its login is one that an identity provider manages, and no repository may say who gets your "
            "ID token",
            hint="write the server into your own settings",
        )
    lacking = [name for name in ("idp_client_id",) if name not in given]
    if not {"idp_issuer", "idp_token_url"} & set(given):
        lacking.append("idp_issuer or idp_token_url")
    sources = [name for name in SOURCES if name in given]
    if not sources:
        lacking.append(f"{FILE}, {VARIABLE} or {HELPER}")
    if not settled.get("client_id") and not settled.get("client_metadata_url"):
        lacking.append("client_id or client_metadata_url")
    if settled.get("idp_token_auth", "none") != "none" and "idp_client_secret" not in given:
        lacking.append("idp_client_secret")
    if lacking:
        raise ServerMisconfigured(f"its oauth_config lacks {'; '.join(lacking)}")
    if len(sources) > 1:
        raise ServerMisconfigured(f"its oauth_config has both {' and '.join(sources)}: one is enough")


def id_token_source(
    settled: Mapping[str, Any], runner: Runner, environ: Mapping[str, str]
) -> Callable[[], Awaitable[str]]:
    """What gives the ID token that there is now, as settings say it, anew each time.

    It raises `LoginFailed` in the step `identity`.
    """

    async def token() -> str:
        source = next((name for name in SOURCES if settled.get(name)), "")
        value = str(settled.get(source, ""))
        if source == FILE:
            text = await to_thread.run_sync(_in_file, value)
        elif source == HELPER:
            text = await _from_helper(value, runner, environ)
        else:
            text = environ.get(value, "")
        if not text.strip():
            why = f"{value} is not set" if source == VARIABLE else "there is nothing in it"
            raise LoginFailed("identity", f"{source} gives no ID token: {why}", hint=_SIGN_IN)
        return text.strip()

    return token


_SIGN_IN: Final = "sign in to the identity provider, and have its ID token put there"


async def _from_helper(line: str, runner: Runner, environ: Mapping[str, str]) -> str:
    try:
        # Outside of a sandbox: its work is to read what that hides, and a person has written it.
        return await printed(line, HELPER, runner, environ, sandboxed=False)
    except ServerMisconfigured as error:
        raise LoginFailed(
            "identity", error.message, hint="run it by hand: it must print the ID token"
        ) from None


def _in_file(text: str) -> str:
    path = Path(text).expanduser() if text.startswith("~/") else Path(text)
    if not path.is_absolute():
        raise LoginFailed("identity", f"{FILE} must be an absolute path, or one below ~/: {text[:200]}")
    try:
        try:
            descriptor = os.open(path, os.O_RDONLY | NONBLOCK | BINARY | getattr(os, "O_CLOEXEC", 0))
        except (OSError, ValueError) as error:
            raise failed("read", path, error) from error
        problem = _openness(os.fstat(descriptor)) if os.name == "posix" else ""
        data = read_opened(descriptor, path, max_bytes=MAX_BYTES)
    except CalibanError as error:
        raise LoginFailed("identity", f"{FILE}: {error.message}", hint=error.hint or _SIGN_IN) from None
    if problem:
        raise LoginFailed(
            "identity",
            f"{FILE}: {path} {problem}; it is not used",
            hint=f"chmod 600 {path}, and sign in anew",
        )
    return data.decode("ascii", "replace")


def _openness(status: os.stat_result) -> str:
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        return f"can be read or changed by others (mode {mode:04o})"
    return "" if status.st_uid in (os.geteuid(), 0) else "belongs to somebody else"
