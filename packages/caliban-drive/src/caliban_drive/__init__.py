"""One session for every face: prompts go in, events come out, and the conversation is remembered."""

from caliban_drive.errors import AttachmentRefused
from caliban_drive.notice import Notice, Report
from caliban_drive.session import Session, Store, Submission

__all__ = ["AttachmentRefused", "Notice", "Report", "Session", "Store", "Submission"]
