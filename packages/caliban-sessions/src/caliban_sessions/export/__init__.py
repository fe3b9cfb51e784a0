"""A session written down for others: as Markdown, as JSON, as a page of its own."""

from caliban_sessions.export.claude import MARK, as_transcript, project_key, transcript_id
from caliban_sessions.export.data import as_json
from caliban_sessions.export.markdown import as_markdown
from caliban_sessions.export.page import as_page
from caliban_sessions.export.script import Script, Step, masked_script, script_of

__all__ = [
    "MARK",
    "Script",
    "Step",
    "as_json",
    "as_markdown",
    "as_page",
    "as_transcript",
    "masked_script",
    "project_key",
    "script_of",
    "transcript_id",
]
