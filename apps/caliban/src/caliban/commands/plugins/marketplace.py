"""`caliban plugin marketplace`: lists of plugins that a person added, and what was read of them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from caliban.cli.invocation import Invocation
from caliban.commands.asked import has_person, says_yes
from caliban.commands.plugins.desk import PluginDesk, open_desk, place_source, told
from caliban.compose.plugins.fetch import forget_archives
from caliban.errors import CommandRefused, UsageError
from caliban.stdio import complain, print_lines, print_text
from caliban_common.codec import dumps
from caliban_common.terminal import visible
from caliban_common.text import one_line, plural
from caliban_plugins import Marketplace, PluginFailed, PluginRecords
from caliban_plugins.record import KnownMarketplace
from caliban_plugins.signature import read_public_key

MAX_WORDS = 100
NOT_ADDED = 1
NOT_UPDATED = 1


def marketplace(invocation: Invocation) -> int:
    """Do what the second word says."""
    desk = open_desk(invocation)
    place = invocation.values["place"]
    if invocation.values["key"] is not None and invocation.values["action"] != "add":
        raise UsageError("--key goes with add")
    with told():
        match invocation.values["action"] or "list":
            case "add":
                return _add(desk, _needed(place, "a folder, a repository or an address"))
            case "remove":
                return _remove(desk, _needed(place, "the name of a marketplace"))
            case "update":
                return _update(desk, place)
            case _:
                return _list(desk, place)


def refreshed(desk: PluginDesk, name: str) -> Marketplace:
    """A marketplace as it is now, or as last read (with a warning) where it cannot be reached."""
    try:
        return _renewed(desk, name)
    except PluginFailed as error:
        complain(f"caliban: {name}: {error.message}; what was read of it before is taken\n")
        return desk.market(name)[0]


def _renewed(desk: PluginDesk, name: str) -> Marketplace:
    """A marketplace as it is now, written down. Raises `PluginFailed`, and `CommandRefused` for another."""
    known = desk.known(name)
    desk.check_source(known.source, name)
    market, now, data = desk.fetch(known.source)
    if market.name != name:
        raise CommandRefused(
            f"{known.source.words} calls itself {market.name} now, and was {name}",
            hint=f"caliban plugin marketplace add {known.source.at} takes it by that name; plugins that came "
            f"from {name} have to be installed again from there",
        )
    if desk.keys(name):
        _tell_other_key(market, desk.keys(name))
    _keep(desk, now, data)
    return market


def _add(desk: PluginDesk, place: str) -> int:
    source = place_source(place)
    desk.check_source(source)
    market, known, data = desk.fetch(source)
    desk.check_source(source, market.name)
    other = desk.store.records().marketplace(market.name)
    if other is not None and other.source != source:
        raise CommandRefused(
            f"there is a marketplace {market.name} already, from {other.source.words}",
            hint=f"caliban plugin marketplace remove {market.name}",
        )
    keys = _keys(desk, market, known.keys)
    if keys is None:
        complain("caliban: not added; nothing was written\n")
        return NOT_ADDED
    _keep(desk, replace(known, keys=keys), data)
    for key in keys or desk.keys(market.name):
        complain(f"caliban: what {market.name} offers must be signed by the key {_key_words(key)}\n")
    count = plural(len(market.entries), "plugin")
    return print_text(f"added: {market.name} ({count}), from {source.words}\n")


def _keys(desk: PluginDesk, market: Marketplace, pinned: tuple[str, ...]) -> tuple[str, ...] | None:
    """The keys that count for a marketplace; `None` where a person does not agree to its own.

    A key that the list itself names is worth as much as the list: it is shown, and asked about.
    """
    given = desk.invocation.values["key"]
    if given is not None:
        pinned = (desk.typed_key(given, market.name),)
    if pinned or desk.keys(market.name):
        _tell_other_key(market, desk.keys(market.name) if given is None else pinned)
        return pinned
    if not market.public_key:
        return ()
    key = read_public_key(market.public_key)
    if not has_person():
        raise CommandRefused(
            f"{market.name} names the key {_key_words(key.text)} itself, and nobody is here to agree to it",
            hint="--key KEY pins it, once you have it from its owner by another way",
        )
    print_text(
        visible(
            f"marketplace {market.name}\nkey         {key.text}\nid          {key.key_id}\n"
            "The list itself names this key: whoever can change the list can change it. Compare it with what "
            "its owner says elsewhere.\n"
        )
    )
    is_agreed = says_yes(
        "Is what this marketplace offers to be verified by this key?", desk.invocation.signals
    )
    return (key.text,) if is_agreed else None


def _tell_other_key(market: Marketplace, keys: tuple[str, ...]) -> None:
    """Say that a list names another key than the pinned one, which goes on to count."""
    if market.public_key and market.public_key not in keys:
        words = one_line(market.public_key, max_chars=100)
        complain(
            f"caliban: {market.name} names the key {words}, which is not the pinned one and does not count\n"
        )


def _key_words(text: str) -> str:
    return f"{text} (id {read_public_key(text).key_id})"


def _remove(desk: PluginDesk, name: str) -> int:
    known = desk.known(name)
    records = desk.store.records()
    left = [plugin.name for plugin in records.plugins if plugin.marketplace == name]
    if left:
        raise CommandRefused(
            f"{', '.join(left)} came from {name}, and could not be updated without it",
            hint="remove those first: caliban plugin remove",
        )

    def change(records: PluginRecords) -> PluginRecords:
        kept = tuple(one for one in records.marketplaces if one.name != known.name)
        return replace(records, marketplaces=kept)

    forget_archives(desk.store.change(change))
    return print_text(f"removed: {name}\n")


def _update(desk: PluginDesk, name: str | None) -> int:
    names = [name] if name is not None else [one.name for one in desk.store.records().marketplaces]
    code = 0
    for one in names:
        try:
            market = _renewed(desk, one)
        except (CommandRefused, PluginFailed) as error:
            if name is not None:
                raise
            complain(f"caliban: {one}: {error.message}; what was read of it before stays\n")
            complain(f"hint: {error.hint}\n" if error.hint else "")
            code = NOT_UPDATED
            continue
        print_text(f"{one}: {plural(len(market.entries), 'plugin')}\n")
    return code


def _list(desk: PluginDesk, name: str | None) -> int:
    rows: list[dict[str, Any]]
    if name is not None:
        market, _ = desk.market(name)
        rows = [
            {
                "name": entry.name,
                "version": entry.version,
                "description": entry.description,
                "source": entry.source.words if entry.source is not None else None,
                "problem": entry.problem or None,
            }
            for entry in market.entries
        ]
        lines = [
            f"{entry.name:24} {entry.version:10} "
            f"{entry.problem or one_line(entry.description, max_chars=MAX_WORDS)}".rstrip()
            for entry in market.entries
        ]
    else:
        known = desk.store.records().marketplaces
        rows = [
            {
                "name": one.name,
                "source": one.source.words,
                "updated_at": one.updated_at,
                "keys": list(one.keys),
            }
            for one in known
        ]
        lines = [f"{one.name:24} {one.updated_at}  {one.source.words}" for one in known]
    if desk.invocation.values["json"]:
        lines = [dumps(row).decode() for row in rows]
    elif not lines:
        lines = ["(no marketplaces)" if name is None else "(no plugins)"]
    return print_lines(map(visible, lines))


def _keep(desk: PluginDesk, known: KnownMarketplace, data: bytes) -> None:
    """Write down what was read: the index first, for the records name its digest."""

    def change(records: PluginRecords) -> PluginRecords:
        desk.store.put_index(known.name, data)
        others = (one for one in records.marketplaces if one.name != known.name)
        return replace(records, marketplaces=tuple(sorted((*others, known), key=lambda one: one.name)))

    desk.store.change(change)


def _needed(place: str | None, what: str) -> str:
    if place is None:
        raise UsageError(f"say which: {what}")
    return place
