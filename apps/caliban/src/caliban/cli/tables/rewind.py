"""The row of `caliban rewind`."""

from __future__ import annotations

from typing import Final

from caliban.cli.flag import flag, positive, switch, words
from caliban.cli.groups import shared
from caliban.cli.subcommand import Subcommand
from caliban.cli.tables.rows import PLACE

REWIND: Final = Subcommand(
    "rewind",
    "go back to before a prompt: the files, the conversation, or both",
    "caliban.commands.rewind.back:rewind",
    flags=(
        flag(
            "saved",
            metavar="SESSION",
            nargs="?",
            type=words,
            help="default: the one used last in the workspace",
        ),
        switch("--list", help="show the prompts that can be gone back to (default without --to)"),
        flag("--to", type=positive, metavar="N", help="go back to before prompt N of the list"),
        switch("--code", help="the files only; the conversation stays"),
        switch("--conversation", help="the conversation only; the files stay"),
        flag(
            "--summarize",
            choices=("from", "up-to"),
            help="leave out nothing: summarise the conversation from prompt N on, or up to before it; the "
            "files stay",
        ),
        switch("--force", help="overwrite also what somebody else has changed since"),
        switch("--dry-run", help="say what would be done, and do nothing"),
        switch("--json", help="one JSON object; with --list one a line"),
        shared("--sessions-dir"),
        shared("--provider", help="with --summarize (default: the session's)"),
        shared("--model", help="with --summarize (default: the session's)"),
        *PLACE,
        shared("--bare", help="no settings of user or project"),
    ),
    usage="[SESSION] [--list | --to N]",
    description="Go back to before a prompt. Files come back as they were, new ones go. A file that somebody "
    "else changed since keeps everything from being done, until --force. What is overwritten is kept, and "
    "going back can be gone back from. Exit: 1 when it was not done.",
)
