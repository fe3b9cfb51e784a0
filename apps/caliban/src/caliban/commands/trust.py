"""`caliban trust`: what a project supplies, and a person's consent to exactly that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from caliban.cli.invocation import Invocation
from caliban.cli.options import SettingsOptions
from caliban.cli.tables.trust import MIN_DIGITS
from caliban.commands.asked import has_person, lets_count
from caliban.compose.consents import refused_root, store_path, trust_store
from caliban.compose.project import STATE_WORDS, ProjectTrust, judge_trust
from caliban.compose.settings import layers_of
from caliban.compose.supplied import read_files
from caliban.compose.surface import surface_of
from caliban.compose.workspace import build_workspace, resolved
from caliban.errors import CommandRefused, ConfigError, UsageError
from caliban.stdio import complain, print_lines, print_text
from caliban_common.codec import dumps
from caliban_common.errors import CalibanError
from caliban_common.paths import expand_user
from caliban_common.terminal import visible
from caliban_common.text import one_line, plural
from caliban_settings import Withheld
from caliban_trust import (
    Consent,
    TrustFailed,
    TrustItem,
    TrustStore,
    TrustSurface,
    changes,
    project_root,
)

ConsentState: TypeAlias = Literal["current", "changed", "gone", "unreadable"]
NOT_ADDED: Final = 1
NOT_THERE: Final = 1
INDENT: Final = "      "


class TrustQuestion(Struct, frozen=True, kw_only=True):
    """A project as it is now, what is recorded about it, and what of it never counts."""

    workspace: Path
    surface: TrustSurface
    trust: ProjectTrust
    never: tuple[Withheld, ...]
    problems: tuple[str, ...]


def list_trusted(invocation: Invocation) -> int:
    """Print every consent, and whether the project is still what was trusted."""
    rows = [(consent, _state(consent)) for consent in _consents()]
    if invocation.values["json"]:
        lines = [
            dumps(
                {
                    "root": consent.root.path,
                    "state": state,
                    "trusted_at": consent.trusted_at,
                    "digest": consent.digest,
                    "items": len(consent.items),
                }
            ).decode()
            for consent, state in rows
        ]
    else:
        lines = [
            f"{state:10} {consent.trusted_at}  {consent.digest[:MIN_DIGITS]}  {visible(consent.root.path)}"
            for consent, state in rows
        ] or ["(no project is trusted)"]
    return print_lines(lines)


def show(invocation: Invocation) -> int:
    """Print what a project supplies, and the digest of it."""
    question = look_at(_directory(invocation))
    text = _json(question) if invocation.values["json"] else _shown(question)
    return print_text(text)


def add(invocation: Invocation) -> int:
    """Show what a project supplies, and record that it is trusted if a person says so."""
    values = invocation.values
    if values["yes"] != (values["digest"] is not None):
        raise UsageError(
            "--yes and --digest go together: without a person, the digest says what was looked at",
            hint="caliban trust show prints it",
        )
    workspace = _directory(invocation)
    what = refused_root(workspace)
    if what is not None:
        raise CommandRefused(
            f"{workspace} is {what}: trust in it would be for more than a project",
            hint="--trust-project trusts it for one run",
        )
    question = look_at(workspace)
    if not question.surface.asks:
        return print_text(f"{visible(str(workspace))}: {STATE_WORDS['nothing']}\n")
    if question.trust.state == "trusted":
        text = f"{visible(str(workspace))} is trusted as it is, since {question.trust.since}\n"
        return print_text(text)
    if question.trust.state == "unknown":
        raise ConfigError(question.trust.words or STATE_WORDS["unknown"])
    if values["yes"]:
        _check_digest(values["digest"], question.surface.digest)
    elif not _agrees(question, invocation):
        complain("caliban: not trusted; nothing was written\n")
        return NOT_ADDED
    return _keep(question)


def revoke(invocation: Invocation) -> int:
    """Forget one consent, or all of them."""
    values = invocation.values
    try:
        store = TrustStore(store_path())
        if values["all"]:
            if values["directory"] is not None:
                raise UsageError("--all is every project: it takes no directory")
            count = store.revoke_all()
            return print_text(f"{plural(count, 'project')} trusted no more\n")
        path = _revoked_path(values["directory"])
        gone = store.revoke(path)
    except TrustFailed as error:
        raise ConfigError(error.message, hint=error.hint) from error
    if gone is None:
        complain(f"caliban: {one_line(path)} was not trusted\n")
        return NOT_THERE
    return print_text(f"trusted no more: {visible(path)}\n")


def _directory(invocation: Invocation) -> Path:
    named = invocation.values["directory"]
    if named is not None and not expand_user(named).is_dir():
        raise UsageError(f"{one_line(named, max_chars=200)} is not a directory")
    return build_workspace(named)


def _revoked_path(named: str | None) -> str:
    """The path that a consent would have; the folder need not be there any more."""
    if named is None:
        return str(build_workspace(None))
    return str(resolved(expand_user(named)))


def look_at(workspace: Path) -> TrustQuestion:
    """The project as a run would read it. Raises the errors of its files."""
    layers = layers_of(SettingsOptions(), workspace)
    files = read_files(workspace)
    surface = surface_of(workspace, layers.of_project(), files, shows=True)
    withheld = layers.merged(trusted=True).withheld
    return TrustQuestion(
        workspace=workspace,
        surface=surface,
        trust=judge_trust(workspace, lambda: surface) if surface.asks else ProjectTrust(),
        never=tuple(item for item in withheld if item.scope in ("project", "local")),
        problems=files.problems,
    )


def _consents() -> tuple[Consent, ...]:
    try:
        return TrustStore(store_path()).consents()
    except TrustFailed as error:
        raise ConfigError(error.message, hint=error.hint) from error


def _state(consent: Consent) -> ConsentState:
    try:
        workspace = Path(consent.root.path)
        if project_root(workspace) != consent.root:
            return "gone"
        surface = surface_of(
            workspace, layers_of(SettingsOptions(), workspace).of_project(), read_files(workspace)
        )
    except OSError:
        return "gone"
    except CalibanError:
        return "unreadable"
    return "current" if surface.digest == consent.digest else "changed"


def _check_digest(given: str, digest: str) -> None:
    """Raise where `given` is not the beginning of `digest`, or too little of it."""
    if re.fullmatch(rf"[0-9a-f]{{{MIN_DIGITS},64}}", given) is None:
        raise UsageError(
            f"--digest takes {MIN_DIGITS} to 64 hexadecimal digits", hint="caliban trust show prints them"
        )
    if not digest.startswith(given):
        raise CommandRefused(
            f"the digest of the project is {digest}, not {given}: it is not what was looked at; "
            "nothing was written",
            hint="caliban trust show says what it supplies now",
        )


def _agrees(question: TrustQuestion, invocation: Invocation) -> bool:
    """Whether a person at a terminal says yes to what was shown; anything else is no."""
    digest = question.surface.digest
    if not has_person():
        raise CommandRefused(
            "there is no terminal to ask at: nothing is trusted without a person",
            hint="look with caliban trust show; then: caliban trust add --yes --digest "
            + digest[:MIN_DIGITS],
        )
    code = print_text(_shown(question))
    return not code and lets_count(invocation.signals)


def _keep(question: TrustQuestion) -> int:
    consent = keep(question)
    text = f"trusted: {visible(consent.root.path)} ({consent.digest[:MIN_DIGITS]})\n"
    return print_text(text)


def keep(question: TrustQuestion) -> Consent:
    """Record the digest of what was shown; the project is not read again.

    Raises `ConfigError`.
    """
    consent = Consent(
        root=project_root(question.workspace),
        digest=question.surface.digest,
        trusted_at=datetime.now(UTC).isoformat(timespec="seconds"),
        items=question.surface.items,
    )
    try:
        trust_store(question.workspace).keep(consent)
    except TrustFailed as error:
        raise ConfigError(error.message, hint=error.hint) from error
    return consent


def _shown(question: TrustQuestion) -> str:
    return "".join(f"{line}\n" for line in shown_lines(question))


def shown_lines(question: TrustQuestion) -> Iterator[str]:
    """What a project supplies, and whether it is trusted."""
    trust, surface = question.trust, question.surface
    since = f" ({trust.since})" if trust.since else ""
    yield f"project {visible(str(question.workspace))}"
    yield f"state   {STATE_WORDS[trust.state]}{since}"
    yield f"digest  {surface.digest if surface.asks else '-'}"
    if trust.words:
        yield f"note    {visible(trust.words)}"
    if surface.asks:
        for number, item in enumerate(surface.items, 1):
            yield from _item_lines(number, item)
    if trust.state == "changed":
        yield from _difference(question)
    yield from (f"left out: {visible(problem)}" for problem in question.problems)
    yield from (f"never counts: {visible(item.key)}: {item.reason}" for item in question.never)


def _item_lines(number: int, item: TrustItem) -> Iterator[str]:
    narrows = "" if item.grants else "   (grants nothing; it is part of what the others mean)"
    yield f"{number:3}. {item.kind} {visible(' '.join(filter(None, (item.name, item.place))))}{narrows}"
    yield from (f"{INDENT}{line}" for line in item.shown.splitlines())


def _difference(question: TrustQuestion) -> Iterator[str]:
    """What changed since the project was trusted, line by line where the old text was kept."""
    import difflib
    from itertools import islice

    store = trust_store(question.workspace)
    consent = store.find(project_root(question.workspace))
    for change in changes(consent.items if consent is not None else (), question.surface.items):
        item = change.item
        yield f"{change.verb}: {item.kind} {visible(' '.join(filter(None, (item.name, item.place))))}"
        old, new = (
            one.shown.splitlines() if one is not None else [] for one in (change.before, change.after)
        )
        for line in islice(difflib.unified_diff(old, new, n=1, lineterm=""), 2, None):
            if not line.startswith("@@"):
                yield f"{INDENT}{line}"


def _json(question: TrustQuestion) -> str:
    value = {
        "root": str(question.workspace),
        "state": question.trust.state,
        "trusted_at": question.trust.since,
        "digest": question.surface.digest if question.surface.asks else None,
        "items": [
            {
                "kind": item.kind,
                "place": item.place,
                "name": item.name,
                "digest": item.digest,
                "grants": item.grants,
                "shown": item.shown,
            }
            for item in (question.surface.items if question.surface.asks else ())
        ],
        "never": [{"name": item.key, "reason": item.reason} for item in question.never],
    }
    return dumps(value).decode() + "\n"
