"""What a person has let in of each server: the definitions of its tools, and what waits to be looked at.

The first list of a server is taken as it is: who has configured it has asked for it. From then on a tool that
says something else than before is held back, and a new one counts as new, until somebody has looked at the
difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from caliban_common.errors import CalibanError
from caliban_common.files import ensure_private_dir, read_regular, write_atomic
from caliban_mcp.definition import definition_digest, definition_of, has_digest
from caliban_mcp.errors import PinsUnusable
from caliban_mcp_client.entries import is_same_entry
from caliban_mcp_client.values import McpTool

VERSION: Final = 1
MAX_BYTES: Final = 32 << 20
OWNERS_ONLY: Final = 0o600
Standing: TypeAlias = Literal["accepted", "new", "changed"]
"""What is known of a tool: as it was let in, not known yet, or something else than was let in."""


class PinnedTool(Struct, frozen=True, kw_only=True):
    """A definition that was let in, or seen; `digest` is that of `definition`."""

    digest: str
    definition: dict[str, Any]


class ServerPins(Struct, frozen=True, kw_only=True):
    """What was let in of one server, and what was `seen` of it last and is not let in.

    `instructions` is the text that was let in, `seen_instructions` another one that waits. `target` is what
    the server was when it was seen first, for a person.
    """

    version: int = VERSION
    server: str
    target: str = ""
    tools: dict[str, PinnedTool] = {}
    seen: dict[str, PinnedTool] = {}
    instructions: str = ""
    seen_instructions: str | None = None

    @property
    def waits(self) -> bool:
        """Whether there is something to look at."""
        return bool(self.seen) or self.seen_instructions is not None


class JudgedTools(Struct, frozen=True, kw_only=True):
    """The tools of a list by what is known of them, in its order, and the instructions that count."""

    offered: tuple[tuple[McpTool, Standing], ...]
    held: tuple[McpTool, ...] = ()
    instructions: str = ""
    instructions_changed: bool = False


class PinStore:
    """The pins of all servers, one file each, in a directory that is ours alone."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def load(self, identity: str) -> ServerPins | None:
        """The pins of a server; `None` where none were made. Raises `PinsUnusable`."""
        path = self._path(identity)
        try:
            raw = read_regular(path, max_bytes=MAX_BYTES)
        except CalibanError as error:
            if getattr(error, "missing", False):
                return None
            raise PinsUnusable(error.message, hint=error.hint) from error
        try:
            pins = _read(msgspec.json.decode(raw))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise _damaged(path, str(error)) from error
        for pinned in (*pins.tools.values(), *pins.seen.values()):
            if not has_digest(pinned.definition, pinned.digest):
                raise _damaged(path, "a digest in it is not that of its definition")
        return pins

    def judge(self, identity: str, first: ServerPins, tools: Iterable[McpTool]) -> JudgedTools:
        """What is known of the `tools` of a server that says `first` of itself; what is new to us is kept.

        `first` has its name, its target and its instructions. Raises `PinsUnusable`.
        """
        listed = tuple(tools)
        pins = self.load(identity)
        if pins is None:
            self._change(identity, lambda there: there or replace(first, tools=dict(map(_pinned, listed))))
            return JudgedTools(
                offered=tuple((tool, "accepted") for tool in listed), instructions=first.instructions
            )
        judged = _judged(pins, listed, first.instructions)
        waiting = {
            tool.name: _pinned(tool)[1]
            for tool in (*judged.held, *(tool for tool, standing in judged.offered if standing == "new"))
        }
        changed = first.instructions if judged.instructions_changed else None
        if waiting != pins.seen or changed != pins.seen_instructions:
            self._change(identity, lambda there: _with_seen(there or pins, waiting, changed))
        return judged

    def accept(
        self, identity: str, digests: Mapping[str, str], *, instructions: bool = False
    ) -> tuple[str, ...]:
        """Let in what waits and has these digests, by the names of tools; which tools those were.

        Raises `PinsUnusable`.
        """
        taken: list[str] = []

        def change(there: ServerPins | None) -> ServerPins:
            if there is None:
                raise PinsUnusable("nothing is known of this server")
            let_in = {name: pin for name, pin in there.seen.items() if digests.get(name) == pin.digest}
            taken.extend(let_in)
            pins = replace(
                there,
                tools={**there.tools, **let_in},
                seen={name: pin for name, pin in there.seen.items() if name not in let_in},
            )
            if instructions and pins.seen_instructions is not None:
                pins = replace(pins, instructions=pins.seen_instructions, seen_instructions=None)
            return pins

        self._change(identity, change)
        return tuple(taken)

    def forget(self, identity: str) -> bool:
        """Forget a server: its next list is taken as its first. Whether there was something to forget."""
        try:
            self._path(identity).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise PinsUnusable(f"the pins of the server cannot be removed: {error.strerror}") from error
        return True

    def _path(self, identity: str) -> Path:
        return self.directory / f"{identity}.json"

    def _change(self, identity: str, change: Callable[[ServerPins | None], ServerPins]) -> None:
        from caliban_mcp.lock import locked

        try:
            ensure_private_dir(self.directory)
            with locked(self.directory / ".lock"):
                data = msgspec.json.format(msgspec.json.encode(change(self.load(identity))), indent=1)
                if len(data) > MAX_BYTES:
                    raise PinsUnusable(f"the pins of one server would have more than {MAX_BYTES:,} bytes")
                write_atomic(self._path(identity), data, mode=OWNERS_ONLY, durable=False)
        except PinsUnusable:
            raise
        except CalibanError as error:
            raise PinsUnusable(error.message, hint=error.hint) from error


def _read(value: object) -> ServerPins:
    """The pins that are kept so. Raises `ValueError`.

    By hand, for a start: to make a decoder of the types costs it more.
    """
    kept = value if isinstance(value, dict) else {}
    if kept.get("version") != VERSION:
        raise ValueError(f"its version is {kept.get('version')!r}, not {VERSION}"[:200])
    texts = {name: kept.get(name, "") for name in ("server", "target", "instructions")}
    waiting = kept.get("seen_instructions")
    is_text = all(isinstance(text, str) for text in texts.values())
    if "server" not in kept or not is_text or not (waiting is None or isinstance(waiting, str)):
        raise ValueError("a text of it is none")
    return ServerPins(
        **texts,
        tools=_pinned_tools(kept.get("tools", {})),
        seen=_pinned_tools(kept.get("seen", {})),
        seen_instructions=waiting,
    )


def _pinned_tools(kept: object) -> dict[str, PinnedTool]:
    if not isinstance(kept, dict):
        raise ValueError("its tools are no table")
    tools: dict[str, PinnedTool] = {}
    for name, pinned in kept.items():
        match pinned:
            case {"digest": str() as digest, "definition": dict() as definition}:
                tools[name] = PinnedTool(digest=digest, definition=definition)
            case _:
                raise ValueError("a tool of it lacks its digest or its definition")
    return tools


def _judged(pins: ServerPins, listed: tuple[McpTool, ...], instructions: str) -> JudgedTools:
    offered: list[tuple[McpTool, Standing]] = []
    held: list[McpTool] = []
    for tool in listed:
        known = pins.tools.get(tool.name)
        if known is None:
            offered.append((tool, "new"))
        elif is_same_entry(known.definition, definition_of(tool)):
            offered.append((tool, "accepted"))
        else:
            held.append(tool)
    is_other = instructions not in ("", pins.instructions)
    return JudgedTools(
        offered=tuple(offered),
        held=tuple(held),
        instructions="" if is_other else instructions,
        instructions_changed=is_other,
    )


def _with_seen(pins: ServerPins, seen: dict[str, PinnedTool], instructions: str | None) -> ServerPins:
    return replace(pins, seen=seen, seen_instructions=instructions)


def _pinned(tool: McpTool) -> tuple[str, PinnedTool]:
    definition = definition_of(tool)
    return tool.name, PinnedTool(digest=definition_digest(definition), definition=definition)


def _damaged(path: Path, why: str) -> PinsUnusable:
    return PinsUnusable(
        f"{path} is damaged ({why}): no tool of this server is offered",
        hint="look at it, and remove it to take the server's next list as its first",
    )
