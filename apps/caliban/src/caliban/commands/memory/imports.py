"""`caliban memory imports`, `approve` and `revoke`: what files import from outside of their project."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.invocation import Invocation
from caliban.commands.asked import can_answer, says_yes
from caliban.compose.memory.options import memory_options
from caliban.compose.memory.places import MemoryPlaces
from caliban.compose.workspace import resolved
from caliban.early_signals import EarlySignals
from caliban.errors import CommandRefused, MissingError, UsageError
from caliban.stdio import complain, print_lines
from caliban_common.paths import expand_user
from caliban_common.text import one_line, plural
from caliban_memory import find_memory, project_root
from caliban_memory.approvals import ImportApproval, ImportApprovals
from caliban_memory.errors import MemoryFileRefused
from caliban_memory.reading import MemoryReader, ReadFence, canonical_of
from caliban_memory.values import digest_of

NOT_DONE: Final = 1
ImportState: TypeAlias = Literal["approved", "changed", "open"]
WORDS: Final[Mapping[ImportState, str]] = MappingProxyType(
    {"approved": "approved", "changed": "changed", "open": "not approved"}
)


class OutsideImport(Struct, frozen=True, kw_only=True):
    """A file that is imported from outside: by which, its text and the digest of that, and how it stands."""

    importer: Path | None
    target: Path
    text: str
    sha256: str
    state: ImportState


def imports(invocation: Invocation, places: MemoryPlaces) -> int:
    """Do what the verb says of imports. Raises `UsageError`, `MissingError`, `MemoryFailed`."""
    assert places.approvals is not None
    verb, name, is_sure = (invocation.values[key] for key in ("verb", "name", "yes"))
    store, root = ImportApprovals(places.approvals), project_root(places.workspace)
    if is_sure and verb != "approve":
        raise UsageError(f"--yes is for memory approve, not for memory {verb}")
    if verb == "revoke":
        target = None if name is None else resolved(places.workspace / expand_user(name))
        count = store.revoke(root, target)
        return print_lines([f"{plural(count, 'approval')} revoked"]) or (0 if count else NOT_DONE)
    if verb == "imports" and name is not None:
        raise UsageError("memory imports takes no name")
    known = {one.target: one.sha256 for one in store.load() if one.root == str(root)}
    there = _outside(places, known) if name is None else [_named(places, name, known)]
    if verb == "imports":
        return print_lines([*map(_row, there)] or ["nothing is imported from outside of the project"])
    fresh = [one for one in there if one.state != "approved"]
    if not fresh:
        return print_lines(["nothing waits for your approval"])
    for one in fresh:
        complain(f"{_row(one)}\n{_excerpt(one.text)}")
    if not is_sure and not _agrees(len(fresh), invocation.signals):
        complain("caliban: not approved; nothing was written\n")
        return NOT_DONE
    return _keep(store, root, fresh)


def _keep(store: ImportApprovals, root: Path, fresh: list[OutsideImport]) -> int:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    store.keep(
        ImportApproval(root=str(root), target=str(one.target), sha256=one.sha256, approved_at=now)
        for one in fresh
    )
    return print_lines(f"approved {one_line(str(one.target))}" for one in fresh)


def _outside(places: MemoryPlaces, known: dict[str, str]) -> list[OutsideImport]:
    """The files imported from outside, also indirectly; they are read only to be shown."""
    importers: dict[Path, Path] = {}

    def note(importer: Path, target: Path) -> bool:
        importers.setdefault(target, importer)
        return True

    find_memory(replace(memory_options(places), approve=note))
    outside = []
    for target, importer in importers.items():
        with suppress(MemoryFileRefused):  # a run leaves it out, and says so
            outside.append(_read(target, importer, known))
    return outside


def _named(places: MemoryPlaces, name: str, known: dict[str, str]) -> OutsideImport:
    """A file that a person named, whether or not anything imports it."""
    path = places.workspace / expand_user(name)
    try:
        target = canonical_of(path)
        if target.is_relative_to(project_root(places.workspace)):
            raise UsageError(f"{path} is in the project: it needs no approval")
        return _read(target, None, known)
    except MemoryFileRefused as error:
        raise MissingError(f"{path} cannot be imported: {error.message}") from error


def _read(target: Path, importer: Path | None, known: dict[str, str]) -> OutsideImport:
    """The file as it is now. Raises `MemoryFileRefused`."""
    _, text = MemoryReader().read(target, ReadFence(roots=(target,)))
    sha256, approved = digest_of(text), known.get(str(target))
    state: ImportState = "open" if approved is None else "approved" if approved == sha256 else "changed"
    return OutsideImport(importer=importer, target=target, text=text, sha256=sha256, state=state)


def _row(one: OutsideImport) -> str:
    by = "" if one.importer is None else f", imported by {one_line(str(one.importer))}"
    return f"{WORDS[one.state]:<13} {one_line(str(one.target))} ({one.sha256[:12]}{by})"


def _excerpt(text: str) -> str:
    lines = [f"    {one_line(line, max_chars=100)}\n" for line in text.splitlines()]
    more = f"    [{len(lines) - 10} more lines]\n" if len(lines) > 10 else ""
    return "".join(lines[:10]) + more


def _agrees(count: int, signals: EarlySignals) -> bool:
    """Whether a person agrees. Raises `CommandRefused` where nobody can be asked."""
    if not can_answer():
        raise CommandRefused("nobody can be asked here", hint="--yes approves without asking")
    return says_yes(f"may models be told {plural(count, 'file')}, as shown?", signals)
