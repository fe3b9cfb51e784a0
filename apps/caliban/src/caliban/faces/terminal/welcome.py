"""What a first-time user reads, and one who has no key yet."""

from __future__ import annotations

from typing import Final

WELCOME: Final = """\
**There is no model to talk to yet.** Three ways on, each in another terminal:

1. A key: `caliban login` keeps one for a provider (or set `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` …).
2. A server of your own: `caliban --provider ollama`, or any address that speaks a known protocol.
3. A model file on this machine: `caliban --provider local --model FILE.gguf`.

Then press Enter here, and it is looked for again. Ctrl+D leaves.
"""

HINTS: Final = """\
- `/help` lists commands and keys; `@` names a file, `!` runs a line of the shell.
- Shift+Tab changes how much is asked before something runs.
- Esc twice interrupts; what is typed meanwhile is told to the model with its next step.
"""
