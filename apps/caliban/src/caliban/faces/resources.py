"""Resources that a prompt names as `@server:uri`, requested from that server alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from caliban.compose.permissions import Permissions
from caliban.compose.servers.build import RunServers
from caliban_common.errors import CalibanError
from caliban_common.message import Block, TextBlock
from caliban_common.text import one_line
from caliban_drive.notice import Notice
from caliban_mcp.resources import read_resource, read_spec
from caliban_mcp.results import read_contents

REFERENCE: Final = r"""(?:^|(?<=[\s(\[{"'<`]))@([A-Za-z0-9._-]{1,64}):([^\s"'<>`]+)"""
TRAILING: Final = ".,;:!?)]}"
MAX_RESOURCES: Final = 20


def references(prompt: str, servers: Collection[str]) -> Iterator[tuple[str, str]]:
    """The resources that `prompt` names, each once: the server, one of `servers`, and the URI."""
    pairs = (_named(match, servers) for match in re.finditer(REFERENCE, prompt))
    yield from dict.fromkeys((server, uri) for server, uri in pairs if server in servers and uri)


def without_references(prompt: str, servers: Collection[str]) -> str:
    """`prompt` without its resource references, for the search for files."""
    return re.sub(
        REFERENCE,
        lambda match: match[0].replace("@", "") if _named(match, servers)[0] in servers else match[0],
        prompt,
    )


def _named(match: re.Match[str], servers: Collection[str]) -> tuple[str, str]:
    """The server and the URI of a reference; a plugin's server has a colon in its name."""
    rest = match[2].rstrip(TRAILING)
    inner, _, uri = rest.partition(":")
    whole = f"{match[1]}:{inner}"
    return (whole, uri) if whole in servers else (match[1], rest)


async def resource_blocks(prompt: str, run: RunServers, permissions: Permissions) -> tuple[Block, ...]:
    """A block for each resource that `prompt` names; what cannot be fetched is reported and left out."""
    blocks: list[Block] = []
    fleet, spec = run.fleet, read_spec()
    named = [*references(prompt, [server.name for server in fleet.servers])]
    for number, (name, uri) in enumerate(named):
        shown = f"@{name}:{one_line(uri, max_chars=200)}"
        server = fleet.find(name)
        if number >= MAX_RESOURCES or server is None:
            _tell(run, f"{shown} is not attached: a prompt brings at most {MAX_RESOURCES} resources")
        elif permissions.forbids(spec, {"server": name, "uri": uri}):
            _tell(run, f"{shown} is not attached: a rule denies it")
        else:
            try:
                contents = await read_resource(server, uri)
            except CalibanError as error:
                _tell(run, f"{shown} is not attached: {one_line(error.message, max_chars=300)}")
                continue
            head = TextBlock(text=f"[{shown}]")
            blocks += [head, *await read_contents(contents, server.look)]
    return tuple(blocks)


def _tell(run: RunServers, message: str) -> None:
    run.report(Notice(subtype="not_attached", message=message))
