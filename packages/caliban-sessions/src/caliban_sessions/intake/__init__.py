"""Sessions from elsewhere: transcripts of Claude Code, and what `caliban sessions export` wrote as JSON."""

from caliban_sessions.intake.claude import read_claude
from caliban_sessions.intake.exported import read_exported
from caliban_sessions.intake.taken import Taken

__all__ = ["Taken", "read_claude", "read_exported"]
