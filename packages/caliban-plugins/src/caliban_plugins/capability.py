"""What a plugin would do, in words for a person who is asked: each part, and the digest of what was shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from caliban_common.decoding import decode_text
from caliban_common.errors import CalibanError
from caliban_common.frontmatter import split_front_matter
from caliban_common.text import one_line
from caliban_plugins.plugin import Plugin, PluginFile
from caliban_plugins.servers import PluginServer
from caliban_plugins.tree import TreeFile

MAX_PART_BYTES: Final = 256 * 1024
MAX_SHOWN_CHARS: Final = 4_000
COLOURS: Final = "colours of the terminal, for who chooses it"
ROOT: Final = "${CALIBAN_PLUGIN_ROOT}"
_STEERS: Final = rb"(?i)!`|\bmodel\b"
_PROGRAM: Final = (
    r"(?i).*\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|rb|pl|php|ps1|psm1|bat|cmd|exe|dll|so|dylib|jar|lua)"
)

ChangeVerb: TypeAlias = Literal["new", "changed", "gone"]


class Capability(Struct, frozen=True, kw_only=True):
    """One part. `acts` says that it runs something, steers, or locks a choice, without being asked again."""

    kind: str
    name: str
    digest: str
    shown: str = ""
    acts: bool = False


class CapabilityChange(Struct, frozen=True, kw_only=True):
    """What is different in one part; `after` is `None` where it is gone."""

    verb: ChangeVerb
    before: Capability | None
    after: Capability | None

    @property
    def part(self) -> Capability:
        """The part, as it is or as it was."""
        part = self.after or self.before
        assert part is not None
        return part


def capabilities(plugin: Plugin, files: Sequence[TreeFile]) -> tuple[Capability, ...]:
    """Every part of `plugin`, what acts by itself first. `files` are all that it holds."""
    parts = [
        *_hooks(plugin),
        *(_server(plugin, server) for server in plugin.servers),
        *(_command(plugin, file) for file in plugin.commands),
        *(_style(plugin, file) for file in plugin.styles),
        *(_words("skill", plugin, file) for file in plugin.skills),
        *(_words("agent", plugin, file) for file in plugin.agents),
        *(_made("theme", plugin.full_name(file.name), _data(file), COLOURS) for file in plugin.themes),
        *_programs(files),
    ]
    return tuple(sorted(parts, key=lambda part: not part.acts))


def capability_changes(
    before: Sequence[Capability], after: Sequence[Capability]
) -> tuple[CapabilityChange, ...]:
    """What is different between two versions of a plugin, part by part."""
    old = {(part.kind, part.name): part for part in before}
    new = {(part.kind, part.name): part for part in after}
    changes = []
    for key in dict.fromkeys((*new, *old)):
        one, other = old.get(key), new.get(key)
        if one is not None and other is not None and one.digest == other.digest:
            continue
        verb: ChangeVerb = "new" if one is None else "gone" if other is None else "changed"
        changes.append(CapabilityChange(verb=verb, before=one, after=other))
    return tuple(changes)


def _made(kind: str, name: str, data: bytes, shown: str, *, acts: bool = False) -> Capability:
    return Capability(
        kind=kind,
        name=one_line(name, max_chars=200),
        digest=sha256(data).hexdigest(),
        shown=shown[:MAX_SHOWN_CHARS],
        acts=acts,
    )


def _hooks(plugin: Plugin) -> Iterator[Capability]:
    """Each group of hooks, whole: its command is what runs."""
    for events in plugin.hooks.values():
        for event, groups in events.items():
            for number, group in enumerate(groups if isinstance(groups, list) else [groups]):
                text = _json(group)
                yield _made("hook", f"{event}[{number}]", text.encode(), text, acts=True)


def _server(plugin: Plugin, server: PluginServer) -> Capability:
    """A server as it is written: the same wherever its plugin lies."""
    words = " ".join((server.command, *server.args)) if server.command else server.url
    names = ", ".join(sorted((*server.env, *server.headers)))
    lines = [
        f"{server.kind}: {words}",
        f"in {server.cwd}" if server.cwd else "",
        f"with {names}" if names else "",
        f"headers by: {server.headers_helper}" if server.headers_helper else "",
        f"logs in with {json.dumps(dict(server.login), sort_keys=True)}" if server.login else "",
    ]
    further = [one for one in (server.headers_helper, dict(server.login)) if one]
    data = _json(
        [
            server.kind,
            server.command,
            server.args,
            dict(server.env),
            server.cwd,
            server.url,
            dict(server.headers),
            *further,
        ]
    )
    shown = "\n".join(filter(None, lines)).replace(str(plugin.root), ROOT)
    return _made("server", server.full_name, data.replace(str(plugin.root), ROOT).encode(), shown, acts=True)


def _command(plugin: Plugin, file: PluginFile) -> Capability:
    data = _data(file)
    steers = re.search(_STEERS, data) is not None
    shown = _text(data) if steers else _about(data)
    return _made("command", f"/{plugin.full_name(file.name)}", data, shown, acts=steers)


def _style(plugin: Plugin, file: PluginFile) -> Capability:
    data = _data(file)
    if not is_forced(data):
        return _made("style", plugin.full_name(file.name), data, _about(data))
    shown = f"(takes the place of the output style that you chose)\n{_text(data)}"
    return _made("style", plugin.full_name(file.name), data, shown, acts=True)


def is_forced(data: bytes) -> bool:
    """Whether a style says that it is to be taken while its plugin is enabled."""
    value = {re.sub(r"[_-]", "", key).lower(): value for key, value in _head(data).items()}.get(
        "forceforplugin"
    )
    return str(value).strip().lower() == "true"


def _words(kind: str, plugin: Plugin, file: PluginFile) -> Capability:
    data = _data(file)
    return _made(kind, plugin.full_name(file.name), data, _about(data))


def _programs(files: Sequence[TreeFile]) -> Iterator[Capability]:
    for file in files:
        if file.executable or re.fullmatch(_PROGRAM, file.path) is not None:
            words = f"{file.size_bytes:,} bytes, sha256 {file.digest[:12]}"
            yield _made("program", file.path, file.digest.encode(), words)


def _data(file: PluginFile) -> bytes:
    try:
        return file.read(MAX_PART_BYTES)
    except CalibanError as error:
        return f"(cannot be read: {error.message})".encode()


def _about(data: bytes) -> str:
    """What a file says that it is for."""
    head = _head(data)
    tools = head.get("tools") or head.get("allowed-tools")
    words = [one_line(str(head.get("description") or ""), max_chars=300)]
    words += [f"tools: {one_line(str(tools), max_chars=200)}"] if tools else []
    return "\n".join(filter(None, words))


def _head(data: bytes) -> Mapping[str, Any]:
    try:
        return split_front_matter(decode_text(data))[0]
    except CalibanError:
        return {}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1)
