"""A server as somebody has written it, before any variable of it is filled in."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from caliban_common.digest import sha256

ServerKind: TypeAlias = Literal["stdio", "http", "sse", "ws", "sdk"]
Login: TypeAlias = Literal["off", "auto", "manual"]
Protocol: TypeAlias = Literal["auto", "legacy", "2026-07-28"]


class ServerConfig(Struct, frozen=True, kw_only=True):
    """One server. `scope` and `place` say who wrote it and where; `place` is empty for the command line.

    Of its tools the `enabled_tools` are offered (`None`: all) without the `disabled_tools`, both by the names
    that the server gives them. No run starts without a `required` one. Where it is `lazy` its tools may be
    held back until a search finds them. `headers_helper` is a command line that prints headers, `bearer_env`
    the variable with a token. `oauth` says whether there are logins, `oauth_config` what is settled of them.
    One of the kind `sdk` lives in the program that has started us, which knows it by its name.
    `headers`, `env`, `args`, `command`, `cwd`, `url` and the texts of `oauth_config` may hold variables.
    """

    name: str
    scope: str
    place: str = ""
    kind: ServerKind = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    headers_helper: str | None = None
    bearer_env: str | None = None
    oauth: Login = "auto"
    oauth_config: Mapping[str, Any] = field(default_factory=dict)
    enabled_tools: tuple[str, ...] | None = None
    disabled_tools: tuple[str, ...] = ()
    protocol: Protocol = "auto"
    start_timeout_s: float | None = None
    tool_timeout_s: float | None = None
    required: bool = False
    lazy: bool = True
    roots: bool = False
    disabled: bool = False

    @property
    def is_from_person(self) -> bool:
        """Whether no repository can have written it."""
        return self.scope in ("managed", "user", "cli")

    @property
    def shown_target(self) -> str:
        """Where it is, in a line: every argument, and no value of a variable."""
        if self.kind == "sdk":
            return "in the host"
        if self.kind == "stdio":
            return shlex.join((self.command, *self.args))
        return self.url

    @property
    def identity(self) -> str:
        """Which server it is, in 64 hexadecimal digits: its name and what is started or asked, as written.

        What it may see and be told, such as variables of its environment, makes no other server of it.
        """
        parts = [self.name, self.kind, self.command, list(self.args), self.url]
        return sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def may_log_in(self) -> bool:
        """Whether a login may speak for us there: it has an address, and nothing else says who asks."""
        is_settled = any(name.lower() == "authorization" for name in self.headers)
        is_settled = is_settled or self.bearer_env is not None or self.headers_helper is not None
        return self.kind in ("http", "sse") and self.oauth != "off" and not is_settled

    def takes(self, tool: str) -> bool:
        """Whether a tool that the server calls so is one to be offered."""
        return (self.enabled_tools is None or tool in self.enabled_tools) and tool not in self.disabled_tools


def is_address(url: str) -> bool:
    """Whether a server can be there: http, https, ws or wss with a host, and a port that there is."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return has_host and parts.scheme in ("http", "https", "ws", "wss") and not re.search(r"\s", url)


def download_words(config: ServerConfig) -> str | None:
    """What to know of a program that fetches what it runs anew: which package, and that nothing pins it."""
    return fetched_package(config.command, config.args)


def fetched_package(command: str, args: tuple[str, ...]) -> str | None:
    """The package that this command fetches before it runs it, in words; `None` where it does not."""
    program = command.replace("\\", "/").rpartition("/")[2].removesuffix(".cmd").removesuffix(".exe")
    if program not in ("npx", "bunx", "uvx", "pipx", "pnpx", "pnpm", "yarn", "bun", "uv", "deno", "docker"):
        return None
    words = [word for word in args if not word.startswith("-")]
    verbs = {"pnpm": "dlx", "yarn": "dlx", "bun": "x", "pipx": "run", "deno": "run", "docker": "run"}
    if program in verbs:
        if verbs[program] not in words:
            return None
        words = words[words.index(verbs[program]) + 1 :]
    if program == "uv" and words[:2] != ["tool", "run"]:
        return None
    words = words[2:] if program == "uv" else words
    package = words[0] if words else "a package"
    return f"{program} fetches {package} from the network and runs it, at each start whatever is there then"
