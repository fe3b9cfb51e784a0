"""The exit code of an error that keeps a run from starting."""

from __future__ import annotations

from caliban.errors import AppError, KeyFailed
from caliban_common.errors import CalibanError
from caliban_drive.errors import AttachmentRefused
from caliban_headless import exit
from caliban_headless.errors import HeadlessError
from caliban_provider.errors import AuthenticationError, UnknownProvider
from caliban_sessions import InvalidSessionName, SessionExists, SessionNotFound, SessionWriteError
from caliban_settings import SettingsError
from caliban_telemetry import BudgetError, RatesError

CODES: tuple[tuple[type[CalibanError], int], ...] = (
    (InvalidSessionName, exit.USAGE),
    (SessionExists, exit.USAGE),
    (AttachmentRefused, exit.USAGE),
    (UnknownProvider, exit.USAGE),
    (SessionNotFound, exit.NO_INPUT),
    (SessionWriteError, exit.CONFIG),
    (SettingsError, exit.CONFIG),
    (KeyFailed, exit.CONFIG),
    (RatesError, exit.CONFIG),
    (BudgetError, exit.USAGE),
)


def subtype(code: int) -> exit.Subtype:
    """What a result frame calls an end with `code` before there was a run."""
    return "cancelled" if code == exit.CANCELLED else "error"


def exit_code(error: CalibanError) -> int:
    """The documented code for `error`; 1 where none is documented."""
    if isinstance(error, (AppError, HeadlessError)):
        return error.code
    if isinstance(error, AuthenticationError) and error.status is None:  # no server was asked
        return exit.CONFIG
    return next((code for kind, code in CODES if isinstance(error, kind)), exit.FAILURE)
