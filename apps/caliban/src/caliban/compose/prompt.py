"""The prompt of a run: from the flags, from standard input, or from both."""

from __future__ import annotations

from caliban.cli.options import Options
from caliban.errors import UsageError
from caliban_headless.input import read_text
from caliban_headless.stdin import Stdin

STDIN = "-"


async def read_prompt(options: Options) -> str:
    """The text of the prompt. Standard input is read only where it was promised: by `-`, or by no prompt.

    `-` together with a further prompt gives both: the prompt, then what was piped in. Raises `UsageError` for
    an empty prompt.
    """
    said = [text for text in (options.print_prompt, options.prompt_flag, options.prompt) if text]
    words = [text for text in said if text != STDIN]
    if STDIN in said or not said:
        piped = await read_text(Stdin())
        parts = [*words[:1], piped] if piped.strip() else words[:1]
    else:
        parts = words[:1]
    prompt = "\n\n".join(parts)
    if not prompt.strip():
        raise UsageError("the prompt is empty", hint='caliban -p "…", or pipe text into caliban -p -')
    return prompt
