"""The exit code of an error that keeps a run from starting."""

from __future__ import annotations

from caliban.errors import AppError, KeyFailed
from caliban_common.errors import CalibanError
from caliban_drive.errors import AttachmentRefused, BadSchema
from caliban_drive.result import Subtype
from caliban_headless import exit_codes
from caliban_headless.errors import HeadlessError
from caliban_provider.errors import AuthenticationError, UnknownProvider
from caliban_replay.errors import RecordingBroken, RecordingMissing, RecordingUnwritable
from caliban_sessions import (
    InvalidSessionName,
    SessionCorrupt,
    SessionExists,
    SessionNotFound,
    SessionUnreadable,
    SessionWriteError,
)
from caliban_settings import SettingsError
from caliban_settings.errors import SettingsNotWritten
from caliban_telemetry import BudgetError, RatesError

CODES: tuple[tuple[type[CalibanError], int], ...] = (
    (InvalidSessionName, exit_codes.USAGE),
    (SessionExists, exit_codes.USAGE),
    (AttachmentRefused, exit_codes.USAGE),
    (BadSchema, exit_codes.USAGE),
    (UnknownProvider, exit_codes.USAGE),
    (SessionNotFound, exit_codes.NO_INPUT),
    (SessionCorrupt, exit_codes.NO_INPUT),
    (SessionUnreadable, exit_codes.NO_INPUT),
    (SessionWriteError, exit_codes.CONFIG),
    (SettingsNotWritten, exit_codes.FAILURE),
    (SettingsError, exit_codes.CONFIG),
    (KeyFailed, exit_codes.CONFIG),
    (RatesError, exit_codes.CONFIG),
    (BudgetError, exit_codes.USAGE),
    (RecordingMissing, exit_codes.NO_INPUT),
    (RecordingBroken, exit_codes.USAGE),
    (RecordingUnwritable, exit_codes.CONFIG),
)


def subtype(code: int) -> Subtype:
    """What a result frame calls an end with `code` before there was a run."""
    return "cancelled" if code == exit_codes.CANCELLED else "error"


def exit_code(error: CalibanError) -> int:
    """The documented code for `error`; 1 where none is documented."""
    if isinstance(error, (AppError, HeadlessError)):
        return error.code
    if isinstance(error, AuthenticationError) and error.status is None:  # no server was asked
        return exit_codes.CONFIG
    return next((code for kind, code in CODES if isinstance(error, kind)), exit_codes.FAILURE)
