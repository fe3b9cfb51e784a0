"""One session for every face: prompts go in, events come out, and the conversation is remembered."""

from caliban_drive.conversation import SessionParts
from caliban_drive.errors import AttachmentRefused, BadSchema, SchemaMismatch
from caliban_drive.notice import Notice, Report, Reporter
from caliban_drive.result import Costs, PromptResult, RunTotals
from caliban_drive.session import Session
from caliban_drive.store import Store
from caliban_drive.submission import Submission

__all__ = [
    "AttachmentRefused",
    "BadSchema",
    "Costs",
    "Notice",
    "PromptResult",
    "Report",
    "Reporter",
    "RunTotals",
    "SchemaMismatch",
    "Session",
    "SessionParts",
    "Store",
    "Submission",
]
