"""`caliban sessions export`: a session to share, without secrets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from caliban.cli.invocation import Invocation
from caliban.cli.tables.sessions import EXPORT_FORMATS
from caliban.compose.host import learn
from caliban.compose.keystore import read_key
from caliban.compose.project import build_settings
from caliban.compose.sessionstore import require_session, session_store
from caliban.compose.spending import SavedPrices, rounded
from caliban.compose.workspace import build_workspace
from caliban.errors import CommandRefused
from caliban.stdio import complain, print_text, write_out
from caliban_common.errors import CalibanError
from caliban_common.files import is_special, write_atomic, write_through
from caliban_common.mask import Masker
from caliban_common.near import did_you_mean
from caliban_common.paths import expand_user
from caliban_common.text import clean, one_line
from caliban_process.environ import secret_variables
from caliban_sessions import SessionState
from caliban_sessions.entry import StoredMessage
from caliban_sessions.export import as_json, as_markdown, as_page, masked_script, script_of
from caliban_settings import Settings

BAD_FORMAT: Final = 2


def export_session(invocation: Invocation) -> int:
    """Write one session down, to standard output or to a new file."""
    values, options = invocation.values, invocation.options
    target = None if values["output"] is None else expand_user(values["output"])
    form = values["format"] or form_of(target)
    if form not in EXPORT_FORMATS:
        hint = f"{did_you_mean(form, EXPORT_FORMATS)} it takes md, json or html".strip()
        complain(f"caliban: unknown format {one_line(form, max_chars=40)!r}\nhint: {hint}\n")
        return BAD_FORMAT
    store, name = session_store(options.session), values["name"]
    require_session(store, name)
    saved = store.entries(name)
    for warning in saved[0].warnings:
        complain(f"caliban: {warning}\n")
    settings = build_settings(options.settings, build_workspace(options.workspace.workspace))
    masker = export_masker(saved[0].spent)
    data = exported(saved, form, settings, masker)
    if target is None:
        return write_out(data)
    write_export(target, data, force=bool(values["force"]))
    return 0 if is_special(target) else print_text(f"{target}\n")  # it may be standard output itself


def exported(
    saved: tuple[SessionState, tuple[StoredMessage, ...]], form: str, settings: Settings, masker: Masker
) -> bytes:
    """A session in one of `EXPORT_FORMATS`, without what `masker` knows."""
    prices = SavedPrices(settings)
    script = script_of(*saved, prices.call, lambda spent, at: rounded(prices.total(spent, at)))
    script = masked_script(script, masker)
    return clean({"md": as_markdown, "json": as_json, "html": as_page}[form](script)).encode()


def form_of(target: Path | None) -> str:
    """The format that the name of a file asks for."""
    ending = "" if target is None else target.suffix.lower()
    return {".json": "json", ".html": "html", ".htm": "html"}.get(ending, "md")


def export_masker(names: Iterable[str], tell: Callable[[str], None] | None = None) -> Masker:
    """Masks the secrets of this environment, and the stored keys of the providers in `names`.

    Problems are reported on standard error, or to `tell`.
    """
    masker = Masker()
    learn(masker, secret_variables(dict(os.environ)))
    for provider in sorted({name.partition("/")[0] for name in names}):
        try:
            masker.add(read_key(provider) or "")
        except CalibanError as error:
            words = f"the stored keys are not taken out of the export: {error.message}"
            complain(f"caliban: {words}\n") if tell is None else tell(words)
    return masker


def write_export(target: Path, data: bytes, *, force: bool) -> None:
    """Write an export for its owner alone. Raises `CommandRefused` for a file that is there, `FileFailed`.

    What is no file but a pipe or a device, as `/dev/stdout` is, is written to.
    """
    if is_special(target):
        write_through(target, data)
        return
    if os.path.lexists(target) and not force:
        raise CommandRefused(f"{target} is there already", hint="--force writes over it")
    write_atomic(target, data, mode=0o600)
