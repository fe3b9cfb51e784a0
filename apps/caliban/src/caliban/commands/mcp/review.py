"""`caliban mcp review`: show the tools that await approval, and approve them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from msgspec import Struct

from caliban.cli.invocation import Invocation
from caliban.commands.asked import can_answer, says_yes
from caliban.commands.mcp.list import ListedServers
from caliban.compose.servers.build import pins_dir
from caliban.early_signals import EarlySignals
from caliban.errors import CommandRefused, UsageError
from caliban.stdio import complain, print_text, write_out
from caliban_common.codec import dumps
from caliban_common.terminal import visible
from caliban_common.text import one_line
from caliban_mcp import PinStore, PinsUnusable, ServerConfig, ServerPins
from caliban_mcp.definition import definition_lines, difference
from caliban_mcp.hidden import has_hidden

MIN_DIGITS: Final = 12


class WaitingTools(Struct, frozen=True, kw_only=True):
    """What awaits approval of one server, with a digest of it all."""

    config: ServerConfig
    pins: ServerPins

    @property
    def digest(self) -> str:
        """The SHA-256 of all that waits, in 64 hexadecimal digits."""
        seen = {name: pin.digest for name, pin in self.pins.seen.items()}
        data = json.dumps([self.config.identity, seen, self.pins.seen_instructions], sort_keys=True)
        return sha256(data.encode()).hexdigest()


def review(invocation: Invocation) -> int:
    """Show what awaits approval, and approve what a person accepts; 1 where something still waits.

    Raises `MissingError`, `UsageError`, `CommandRefused`.
    """
    values = invocation.values
    listed = ListedServers(invocation.options)
    name = values["name"]
    configs = listed.written.configs if name is None else (listed.find(name),)
    store = PinStore(pins_dir())
    if values["forget"]:
        return _forget(store, configs, name)
    waiting = [*_waiting(store, configs)]
    if values["json"]:
        return print_text("".join(f"{dumps(_row(one)).decode()}\n" for one in waiting)) or int(bool(waiting))
    if values["yes"]:
        return _accept_by_digest(store, waiting, values["digest"])
    if not waiting:
        return write_out(b"nothing waits to be looked at\n")
    left = 0
    for one in waiting:
        print_text(visible("".join(f"{line}\n" for line in _shown(one))))
        if _is_let_in(one, invocation.signals):
            _accept(store, one)
        else:
            left += 1
    return int(left > 0)


def _forget(store: PinStore, configs: tuple[ServerConfig, ...], name: str | None) -> int:
    if name is None:
        raise UsageError("--forget needs the name of a server")
    gone = [store.forget(config.identity) for config in configs]
    outcome = "the next list of it is taken as its first" if any(gone) else "nothing was known of it"
    complain(f"caliban: the MCP server {name}: {outcome}\n")
    return 0


def _waiting(store: PinStore, configs: tuple[ServerConfig, ...]) -> Iterator[WaitingTools]:
    for config in configs:
        try:
            pins = store.load(config.identity)
        except PinsUnusable as error:
            complain(f"caliban: {error.message}\n")
            continue
        if pins is not None and pins.waits:
            yield WaitingTools(config=config, pins=pins)


def _accept_by_digest(store: PinStore, waiting: list[WaitingTools], digest: str | None) -> int:
    if digest is None or len(digest) < MIN_DIGITS:
        raise UsageError(f"--yes needs --digest with {MIN_DIGITS} digits or more of what was looked at")
    meant = [one for one in waiting if one.digest.startswith(digest.lower())]
    if not meant:
        raise CommandRefused("nothing with this digest waits", hint="caliban mcp review shows what does")
    for one in meant:
        _accept(store, one)
    return 0


def _accept(store: PinStore, one: WaitingTools) -> None:
    digests = {name: pin.digest for name, pin in one.pins.seen.items()}
    names = store.accept(one.config.identity, digests, instructions=one.pins.seen_instructions is not None)
    what = ", ".join(one_line(name, max_chars=64) for name in names) or "its instructions"
    complain(f"caliban: let in of the MCP server {one.config.name}: {what}\n")


def _is_let_in(one: WaitingTools, signals: EarlySignals) -> bool:
    """Whether a person says yes; without a terminal nobody does."""
    if not can_answer():
        way = f"caliban mcp review {one.config.name} --yes --digest {one.digest[:MIN_DIGITS]}"
        complain(f"caliban: to let it in: {way}\n")
        return False
    return says_yes("Offer this to the model?", signals)


def _row(one: WaitingTools) -> Mapping[str, Any]:
    return {
        "server": one.config.name,
        "digest": one.digest,
        "tools": [
            {
                "name": name,
                "state": "changed" if name in one.pins.tools else "new",
                "before": one.pins.tools[name].definition if name in one.pins.tools else None,
                "after": pin.definition,
            }
            for name, pin in one.pins.seen.items()
        ],
        "instructions": one.pins.seen_instructions,
    }


def _shown(one: WaitingTools) -> Iterator[str]:
    """Everything that waits, line by line; hidden characters are escaped, so that nothing is missed."""
    yield f"{one.config.name} ({one.config.shown_target})"
    for name, pin in one.pins.seen.items():
        before = one.pins.tools.get(name)
        shown = one_line(name, max_chars=80)
        if before is None:
            yield f"  new tool {shown}"
            lines = tuple(f"+{line}" for line in definition_lines(pin.definition))
        else:
            yield f"  the tool {shown} says something else"
            lines = difference(before.definition, pin.definition)
        if any(map(has_hidden, lines)):
            yield "  ATTENTION: it holds characters that no reader would see; they are shown as \\u…"
        yield from (f"    {line}" for line in lines)
    if one.pins.seen_instructions is not None:
        yield "  its instructions are others:"
        yield from (f"    -{line}" for line in one.pins.instructions.splitlines())
        yield from (f"    +{line}" for line in one.pins.seen_instructions.splitlines())
    yield f"  digest {one.digest}"
