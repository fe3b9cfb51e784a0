"""Commands that submit a prompt of ours, and `/init`."""

from __future__ import annotations

from typing import Final

from caliban.compose.app import App
from caliban_commands.answer import CommandAnswer, SubmitPrompt
from caliban_commands.command import SlashContext
from caliban_commands.errors import BadArguments
from caliban_common.text import one_line

WHAT: Final = "the changes of the working tree that are not committed, staged or not, new files among them"
REVIEW: Final = """\
Review {what}.

Look at the changes first (git status, git diff, git log where it helps), then read as much of the files \
around them as you need to know what they do. Change nothing.

Report what is wrong, the worst first: results that are not right, cases that are not handled, data that \
is lost, races, errors that are swallowed, interfaces that break for who uses them, tests that are \
missing or cannot fail. For each: the file and line, what happens and when, and the smallest mend. Say \
how sure you are. Leave out matters of taste and whatever a formatter does. If nothing is wrong, say so \
in one line and name what you checked.\
"""
SECURITY: Final = """\
Look for security holes in {what}.

Look at the changes first (git status, git diff), then follow what comes from outside (requests, files, \
names, environment, output of programs and models) to where it is used: commands, queries, paths, \
templates, parsers, addresses that are fetched, deserialisation, log lines. Look also at who may do \
what, at secrets in code and logs, at random numbers and comparisons of secrets, at files and locks that \
others can change in between. Change nothing.

Report only what somebody could use, the worst first. For each: the file and line, who could do what \
with it, the input that shows it, how sure you are, and the mend. No list of good advice. If you find \
nothing, say so in one line and name what you followed.\
"""


async def init(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Write the draft that `caliban init` writes."""
    if arguments not in ("", "--force"):
        shown = one_line(arguments, max_chars=60)
        raise BadArguments(f"/init does not know {shown!r}", hint="/init [--force]")
    from caliban.commands.init import write_draft

    return CommandAnswer.of(write_draft(app.workspace, force=bool(arguments)))


async def review(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Have changes reviewed."""
    return _prompt("review", REVIEW, arguments)


async def security_review(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Have changes reviewed for security holes."""
    return _prompt("security-review", SECURITY, arguments)


def _prompt(name: str, words: str, arguments: str) -> CommandAnswer:
    text = words.replace("{what}", arguments or WHAT)
    shown = f"/{name} {arguments}".rstrip()
    return CommandAnswer(effect=SubmitPrompt(text=text, shown=shown, references=arguments))
