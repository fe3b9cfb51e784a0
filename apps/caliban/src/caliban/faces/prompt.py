"""The prompt of a run: from the flags, from standard input, or from both."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from caliban.cli.options import PromptOptions
from caliban.errors import UsageError
from caliban_common.message import Message, TextBlock, user
from caliban_common.text import one_line
from caliban_drive.notice import Notice, Report
from caliban_headless.input import read_text
from caliban_headless.stdin import Stdin

STDIN = "-"
HOW = 'caliban -p "…", or pipe text into caliban -p -'


async def read_prompt(options: PromptOptions, workspace: Path, report: Report) -> Message:
    """The prompt. Standard input is read only where it was promised: by `-`, or by no prompt.

    `-` together with a further prompt gives both: the prompt, then what was piped in. Of several prompts the
    first counts: that of -p, then --prompt, then the positional one. Files that the typed words name with `@`
    are attached. Raises `UsageError` for an empty prompt and `AttachmentRefused`.
    """
    places = (options.print_prompt, options.prompt_flag, options.prompt)
    said = [text for text in places if text is not None]
    words = [text for text in said if text != STDIN]
    for ignored in words[1:]:
        shown = one_line(ignored, max_chars=80)
        message = f"there are several prompts; this one is not used: {shown}"
        report(Notice(subtype="prompt_ignored", message=message))
    typed = words[0] if words else ""
    if words and not typed.strip() and STDIN not in said:
        raise UsageError("the prompt is empty", hint=HOW)
    piped = await read_text(Stdin()) if STDIN in said or not said else ""
    if not typed.strip() and not piped.strip():
        raise UsageError("the prompt is empty", hint=HOW)
    if not typed.strip():
        return user(piped)
    expanded = _with_files(typed, options, workspace)
    if not piped.strip():
        return expanded
    first = TextBlock(text=f"{typed}\n\n{piped}")
    return replace(expanded, content=(first, *expanded.content[1:]))


def _with_files(typed: str, options: PromptOptions, workspace: Path) -> Message:
    if "@" not in typed:
        return user(typed)
    from caliban_drive.expand import ExpandOptions, expand

    limits = ExpandOptions(
        workspace=workspace,
        max_file_bytes=options.max_attach_bytes,
        budget_bytes=options.attach_budget_bytes,
    )
    return expand(typed, limits)
