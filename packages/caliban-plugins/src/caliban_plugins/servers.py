"""The MCP servers that a plugin describes: values for whoever connects them, with variables put in."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import Struct, field

from caliban_common.errors import CalibanError
from caliban_common.text import one_line
from caliban_plugins.errors import ManifestRefused
from caliban_plugins.manifest import PluginManifest
from caliban_plugins.table import JsonTable, read_table
from caliban_plugins.tree import is_file, read_file

USUAL: Final = (".mcp.json", "mcp/.mcp.json")
PORTABLE: Final = "mcp.json"
PORTABLE_SCHEMA: Final = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_KNOWN: Final = ("type", "transport", "command", "args", "env", "cwd", "url", "headers")
_FURTHER: Final = (
    *("headersHelper", "headers_helper", "oauth", "oauth_config", "timeout", "alwaysLoad", "disabled"),
    *("name", "title", "description", "$schema"),
)
"""What others than Agent Plugins know of a server, and what is only words."""
_LOGIN: Final[Mapping[str, str]] = {
    "clientId": "client_id",
    "callbackPort": "callback_port",
    "authServerMetadataUrl": "metadata_url",
    "scopes": "scopes",
}
"""What a plugin may say of a login: who its server knows us as, and no secret."""
_ROOT: Final = r"\$\{(?:CALIBAN_PLUGIN|CLAUDE_PLUGIN|PLUGIN)_(ROOT|DATA)\}"


ServerWords: TypeAlias = tuple[list[str], list[str]]
"""Where it is told what is left out, and what does nothing."""


class PluginServer(Struct, frozen=True, kw_only=True):
    """A server as its plugin describes it; `place` is the file. `kind` is stdio, http or sse.

    `command`, `args`, `env` and `cwd` are for a program, each argument one word; `url` and `headers` for an
    address. `headers_helper` is a command line that prints more headers, `login` what is settled of logins,
    by the names of settings. `full_name` is `plugin:server`: no rule for the bare name is about it.
    """

    plugin: str
    name: str
    place: str
    kind: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    headers_helper: str = ""
    login: Mapping[str, Any] = field(default_factory=dict)
    timeout_s: float | None = None
    lazy: bool = True
    disabled: bool = False

    @property
    def full_name(self) -> str:
        """Its name among the servers of everybody."""
        return f"{self.plugin}:{self.name}"


def read_servers(
    root: Path, manifest: PluginManifest, told: ServerWords, data: Path | None = None
) -> tuple[PluginServer, ...]:
    """The servers of a plugin; one that cannot be read is a problem, and costs no other."""
    problems, notes = told
    servers: dict[str, PluginServer] = {}
    for table in _tables(root, manifest, problems):
        for name, value in table.values.items():
            place = f"{table.place}: `{name}`"
            try:
                if re.fullmatch(NAME, name) is None:
                    raise ManifestRefused(f"{place} is no name for a server")
                if name in servers:
                    raise ManifestRefused(f"{place} stands twice")
                if not isinstance(value, dict):
                    raise ManifestRefused(f"{place} must be an object")
                one = JsonTable(value, place)
                servers[name] = _server(name, one, root, manifest, data)
                notes += (
                    f"`{other}` of the server {name} is not known here, and does nothing"
                    for other in (*one.others((*_KNOWN, *_FURTHER)), *_other_logins(one))
                )
            except CalibanError as error:
                problems.append(f"a server of {manifest.name} is left out: {error.message}")
    return tuple(servers.values())


def expanded(text: str, root: Path, data: Path | None) -> str:
    """`text` with the variables for the places of a plugin put in, once; others stay as they are."""
    places = {"ROOT": str(root), "DATA": "" if data is None else str(data)}
    return re.sub(_ROOT, lambda match: places[match[1]] or match[0], text)


def _tables(root: Path, manifest: PluginManifest, problems: list[str]) -> Iterator[JsonTable]:
    if manifest.servers is not None:
        yield JsonTable(_inner(manifest.servers), str(root / manifest.path))
    portable = manifest.layout == "portable"
    paths = (PORTABLE,) if portable else (*USUAL, *manifest.where.get("servers", ()))
    for path in dict.fromkeys(paths):
        if path in (*USUAL, PORTABLE) and not is_file(root, path):
            continue
        try:
            table = read_table(read_file(root, path), str(root / path))
            if portable and table.text("$schema", required=True) != PORTABLE_SCHEMA:
                raise table.error("$schema", f"must be {PORTABLE_SCHEMA}")
            yield JsonTable(_inner(table.values), table.place)
        except CalibanError as error:
            problems.append(f"the servers of {manifest.name} are left out: {error.message}")


def _inner(values: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = values.get("mcpServers", values.get("mcp_servers"))
    if isinstance(inner, dict):
        return inner
    return {name: value for name, value in values.items() if name != "$schema"}


def _server(
    name: str, table: JsonTable, root: Path, manifest: PluginManifest, data: Path | None
) -> PluginServer:
    def put_in(text: str) -> str:
        if "\0" in text:
            raise ManifestRefused(f"{table.place}: has a NUL character in it")
        return expanded(text, root, data)

    command, url = table.text("command"), table.text("url")
    if bool(command) == bool(url):
        raise ManifestRefused(f"{table.place}: has `command` or `url`, one of them")
    kind = _kind(table, bool(command))
    if manifest.layout == "portable" and (others := table.others(_KNOWN)):
        raise ManifestRefused(f"{table.place}: `{others[0]}` is not known in Agent Plugins 1.0")
    if command.startswith("./"):
        command = str(root / command.removeprefix("./")) if _stays(command) else _refuse(table)
    cwd = put_in(table.text("cwd"))
    return PluginServer(
        plugin=manifest.name,
        name=name,
        place=table.place,
        kind=kind,
        command=command if manifest.layout == "portable" else put_in(command),
        args=tuple(map(put_in, table.texts("args"))),
        env={key: put_in(text) for key, text in _texts(table, "env").items()},
        cwd=(cwd or str(root)) if command else "",
        url=url,
        headers=_texts(table, "headers"),
        headers_helper=_helper(table, put_in) if url else "",
        login=_login(table) if url else {},
        timeout_s=_timeout(table),
        lazy=not table.flag("alwaysLoad", default=False),
        disabled=table.flag("disabled", default=False),
    )


def _helper(table: JsonTable, put_in: Callable[[str], str]) -> str:
    """A command line whose words have the places of the plugin put in, each of them staying one word."""
    line = table.text("headersHelper") or table.text("headers_helper")
    try:
        return shlex.join(map(put_in, shlex.split(line)))
    except ValueError as error:
        raise table.error("headersHelper", f"is no command line: {error}") from error


def _login(table: JsonTable) -> dict[str, Any]:
    """What is settled of logins, by the names that settings have for it."""
    written = _login_table(table)
    own = {_LOGIN.get(name, name): value for name, value in written.items()}
    login: dict[str, Any] = {}
    for name, value in own.items():
        is_text = isinstance(value, str) and bool(value)
        is_port = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 65536
        is_texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
        fits = {"callback_port": is_port, "scopes": is_text or is_texts}.get(name, is_text)
        if name in _LOGIN.values():
            if not fits:
                raise table.error("oauth", f"has a {name} that is none")
            login[name] = value
    return login


def _login_table(table: JsonTable) -> Mapping[str, Any]:
    name = "oauth" if isinstance(table.values.get("oauth"), dict) else "oauth_config"
    below = table.table(name)
    return {} if below is None else below.values


def _other_logins(table: JsonTable) -> tuple[str, ...]:
    """What a plugin says of a login that is not its to say."""
    known = (*_LOGIN, *_LOGIN.values())
    return tuple(f"oauth.{one_line(name, max_chars=40)}" for name in _login_table(table) if name not in known)


def _timeout(table: JsonTable) -> float | None:
    """The seconds of a call, which are written as milliseconds."""
    value = table.values.get("timeout")
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return None
    return value / 1000


def _stays(path: str) -> bool:
    return ".." not in path.split("/")


def _refuse(table: JsonTable) -> str:
    raise table.error("command", "leads out of the plugin")


def _kind(table: JsonTable, is_program: bool) -> str:
    given = table.text("type") or table.text("transport") or ("stdio" if is_program else "http")
    kind = {"streamable-http": "http", "streamable_http": "http"}.get(given, given)
    if kind not in (("stdio",) if is_program else ("http", "sse", "ws")):
        raise table.error("type", f"is {given!r}, which does not fit the rest")
    return kind


def _texts(table: JsonTable, name: str) -> dict[str, str]:
    below = table.table(name)
    if below is None:
        return {}
    if not all(isinstance(text, str) and "\0" not in key + text for key, text in below.values.items()):
        raise table.error(name, "must be an object of texts")
    return dict(below.values)
