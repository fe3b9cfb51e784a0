"""`caliban sessions list` and `caliban sessions show`: which conversations there are, and one in short."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from caliban.cli.help import command_parser
from caliban.cli.invocation import Invocation
from caliban.cli.tables.sessions import SESSIONS
from caliban.compose.project import build_settings
from caliban.compose.sessionstore import has_directory, require_session, session_store
from caliban.compose.spending import SavedPrices, rounded, spent_by, usd
from caliban.compose.workspace import build_workspace
from caliban.errors import MissingError
from caliban.stdio import complain, print_text
from caliban_common.codec import usage_to_json
from caliban_common.text import one_line, plural
from caliban_sessions import SessionHead, SessionState, SessionStore
from caliban_sessions.find import named, search
from caliban_sessions.tree import SessionTree, tree_of

DIGITS = tuple(f"{number:02}" for number in range(60))
"""Hours and minutes as a list of thousands writes them, in a tenth of the time that formatting takes."""
TITLE_CHARS = 100
SAID_CHARS = 400


def sessions(invocation: Invocation) -> int:
    """Show the help: `sessions` needs a verb."""
    return print_text(command_parser(SESSIONS).format_help())


def list_sessions(invocation: Invocation) -> int:
    """Print the matching sessions; damaged files are named on standard error."""
    values, options = invocation.values, invocation.options
    workspace = build_workspace(options.workspace.workspace)
    store = session_store(options.session)
    everywhere = bool(values["everywhere"])
    here = None if everywhere else str(workspace)
    listed = store.list()
    if not listed and options.session.sessions_dir is not None and not has_directory(store):
        complain(f"caliban: there is no directory {store.directory}\n")
    _name_damaged(store, listed)
    heads: Iterable[SessionHead] = (head for head in listed if not head.problem and is_of(head, here))
    if values["query"] is not None:
        heads = named(heads, values["query"])
    if values["label"] is not None:
        heads = (head for head in heads if values["label"] in head.labels)
    hits: dict[str, str] = {}
    if values["search"] is not None:
        heads = _matching(store, heads, values["search"], values["limit"], hits)
    chosen = list(heads)[: values["limit"]]
    prices = SavedPrices(build_settings(options.settings, workspace))
    rows = _rows(chosen, is_tree=bool(values["tree"]))
    if values["json"]:
        lines = [
            json.dumps(_data(head, prices, depth, hits.get(head.name)), ensure_ascii=False)
            for depth, head in rows
        ]
        return print_text("".join(line + "\n" for line in lines))
    if not chosen:
        return print_text(_none(here, is_filtered=any(values[name] for name in ("query", "search", "label"))))
    return print_text(_table(rows, prices, hits, shows_place=everywhere))


def show_session(invocation: Invocation) -> int:
    """Print the facts of one session, and its messages in short."""
    options, name = invocation.options, invocation.values["name"]
    store = session_store(options.session)
    require_session(store, name)
    state = store.load(name)
    for warning in state.warnings:
        complain(f"caliban: {warning}\n")
    prices = SavedPrices(build_settings(options.settings, build_workspace(options.workspace.workspace)))
    head = next((head for head in store.list() if head.name == name), None)
    if head is None:
        raise MissingError(f"session {name!r} was removed meanwhile")
    if invocation.values["json"]:
        data = json.dumps(_data(head, prices, 0, None), ensure_ascii=False)
        return print_text(data + "\n")
    return print_text("".join(_shown(state, head, prices)))


def is_of(head: SessionHead, here: str | None) -> bool:
    """Whether it was used in the directory `here`; sessions of earlier versions do not say."""
    return here is None or head.workspace in ("", here)


def _name_damaged(store: SessionStore, listed: Sequence[SessionHead]) -> None:
    for head in listed:
        if head.problem:
            path = store.directory / f"{head.name}.json"
            complain(f"caliban: {path} is no session: {head.problem}; it is left out\n")


def _matching(
    store: SessionStore,
    heads: Iterable[SessionHead],
    words: str,
    limit: int | None,
    hits: dict[str, str],
) -> Iterator[SessionHead]:
    """Those of `heads` with all of `words`; `hits` learns where. What cannot be read is named."""
    for head in heads:
        if limit is not None and len(hits) >= limit:
            return
        hit = search(store, head.name, words)
        if hit.problem:
            complain(f"caliban: {hit.problem}; it is left out\n")
        elif hit.excerpt is not None:
            hits[head.name] = hit.excerpt
            yield head


def _rows(chosen: list[SessionHead], *, is_tree: bool) -> list[tuple[int, SessionHead]]:
    """The sessions to show, each with its depth."""
    if not is_tree:
        return [(0, head) for head in chosen]
    return list(walk(tree_of(chosen)))


def walk(trees: Sequence[SessionTree]) -> Iterator[tuple[int, SessionHead]]:
    """Each session and its forks below it, however deep."""
    waiting = [(0, tree) for tree in reversed(trees)]
    while waiting:
        depth, tree = waiting.pop()
        yield depth, tree.head
        waiting.extend((depth + 1, child) for child in reversed(tree.children))


def _data(head: SessionHead, prices: SavedPrices, depth: int, excerpt: str | None) -> dict[str, Any]:
    """What a picker shows of a session, as JSON."""
    origin = head.forked_from
    return {
        "name": head.name,
        "id": head.id,
        "title": head.shown_title,
        "labels": list(head.labels),
        "workspace": head.workspace,
        "created_at": head.created_at.isoformat(),
        "updated_at": head.updated_at.isoformat(),
        "provider": head.provider,
        "model": head.model,
        "turns": head.turn_count,
        "messages": head.message_count,
        "usage": usage_to_json(head.total_usage),
        "cost_usd": rounded(_cost(head, prices)),
        "forked_from": None if origin is None else {"session": origin.session, "entry": origin.entry},
        "depth": depth,
        "size_bytes": head.size_bytes,
        **({} if excerpt is None else {"excerpt": excerpt}),
    }


def _cost(session: SessionHead | SessionState, prices: SavedPrices) -> float | None:
    return prices.total(spent_by(session), session.updated_at)


def _none(here: str | None, *, is_filtered: bool) -> str:
    if is_filtered:
        return "(no session is like that)\n"
    return "(no sessions)\n" if here is None else f"(no sessions in {here}; --all shows those of others)\n"


def _table(
    rows: Sequence[tuple[int, SessionHead]],
    prices: SavedPrices,
    hits: Mapping[str, str],
    *,
    shows_place: bool,
) -> str:
    width = min(max(len(head.name) + 2 * depth for depth, head in rows), 72)
    places = {"": ""}
    days: dict[int, str] = {}
    lines: list[str] = []
    for depth, head in rows:
        used, cost = head.updated_at, usd(_cost(head, prices))
        ordinal = used.toordinal()
        day = days.get(ordinal) or days.setdefault(ordinal, used.date().isoformat())
        name = ("  " * depth + head.name).ljust(width)
        turns = "?" if head.turn_count is None else str(head.turn_count)
        place = head.workspace if shows_place else ""
        if place not in places:
            places[place] = f" [{one_line(place)}]"
        words = _words(head, is_below=depth > 0)
        lines.append(
            f"{day} {DIGITS[used.hour]}:{DIGITS[used.minute]}  {name}  {turns.rjust(4)} {cost.rjust(9)}"
            f"  {words}{places[place]}\n"
        )
        if hits and head.name in hits:
            lines.append(f"{'':18}… {hits[head.name]}\n")
    return "".join(lines)


def _words(head: SessionHead, *, is_below: bool) -> str:
    """What a line says of a session; where it was forked from, unless it stands below that one."""
    words = head.shown_title[:TITLE_CHARS]
    if head.labels:
        words += "".join(f" #{label}" for label in head.labels)
    if head.forked_from is not None and not is_below:
        words += f" (fork of {one_line(head.forked_from.session, max_chars=64)})"
    return words


def _shown(state: SessionState, head: SessionHead, prices: SavedPrices) -> Iterator[str]:
    usage = state.total_usage
    yield f"{state.name}: {one_line(head.shown_title) or '(no prompt)'}\n"
    yield f"used in    {one_line(state.workspace) or '(unknown)'}\n"
    yield f"begun      {state.created_at:%Y-%m-%d %H:%M} UTC\n"
    yield f"last used  {state.updated_at:%Y-%m-%d %H:%M} UTC\n"
    yield f"model      {one_line(f'{state.provider}/{state.model}')}\n"
    spent = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    yield f"spent      {spent}, {usd(_cost(state, prices))}\n"
    yield f"messages   {len(state.messages)} in {plural(head.size_bytes, 'byte')}\n"
    if state.labels:
        yield f"labels     {one_line(', '.join(state.labels), max_chars=1000)}\n"
    if state.forked_from is not None:
        yield f"fork of    {one_line(state.forked_from.session)}\n"
    for message in state.messages:
        calls = "".join(f" [{one_line(call.name, max_chars=60)}]" for call in message.tool_uses)
        text = one_line(message.text, max_chars=SAID_CHARS)
        if message.role != "system" and (text or calls):
            yield f"\n{message.role}: {text}{calls}\n"
