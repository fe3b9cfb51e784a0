"""What a library found to do next, in the words of the command: flags, and commands of its own."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from caliban_common.remedy import Remedy, RemedyKind
from caliban_drive.result import PromptResult

REMEDIES: Final[Mapping[RemedyKind, str]] = MappingProxyType(
    {
        "attachment_budget": "name fewer files, or raise --attach-budget-bytes",
        "attachment_size": "raise --max-attach-bytes, or let the model read the part it needs",
        "budget_limit": "raise --max-budget-usd to go on",
        "image_size": "a larger one needs --max-attach-bytes",
        "images_extra": "`pip install 'caliban-cli[images]'` scales it down and converts it",
        "local_models": "it has {name!r}, or name a GGUF file: --model path/to/model.gguf",
        "local_weights": "{hint} with --model",
        "local_window": "shorten the prompt or leave tools out (--bare, --no-tools), give the model a larger "
        "window (CALIBAN_LOCAL_CONTEXT_TOKENS), or name a larger model with --model path/to/model.gguf",
        "model_file": "name a whole .gguf file with --model",
        "other_provider": "this is a fault of the package {name}; choose another --provider",
        "other_route": "`caliban router debug` shows the routes; another one for this purpose would bridge "
        "this",
        "pdf_extra": "`pip install 'caliban-cli[pdf]'` takes PDFs apart and reads their text",
        "route_for_purpose": "`caliban router debug` shows the routes and what their models can do",
        "seeing_model": "choose another --model; or CALIBAN_STRICT_ROUTING=false puts words in its place; "
        "that {name} can after all is said by provider.NAME.models in the settings",
        "session_directory": "use --sessions-dir DIR with a directory you can write, or --no-save",
        "session_fork": "-r {name} --fork-session goes on from here in a session of its own; "
        "else use another --session name, or --no-save",
        "session_new": "begin it with --session {name}",
        "session_other": "start a new one with another --session name",
        "session_space": "free some space, or use --sessions-dir DIR or --no-save; nothing was changed",
        "settings_overlay": """for example --settings '{{"max_turns": 5}}'""",
        "settings_scopes": "--setting-sources takes {name}",
        "token_limit": "allow more with --max-tokens, or ask for less at once",
        "tool_package": "reinstall or remove the package that offers it, or take --bare",
        "turn_limit": "allow more with --max-turns, or go on with another prompt",
    }
)
"""The words for each kind; `{name}` is the remedy's, `{hint}` what the library says."""

OF_COMMANDS: Final[Mapping[RemedyKind, str]] = MappingProxyType(
    {
        "session_directory": "use --sessions-dir DIR with a directory you can write",
        "session_fork": "wait until that has ended, or end it",
        "session_new": "caliban sessions list --all has those that there are",
        "session_space": "free some space, or use --sessions-dir DIR; nothing was changed",
    }
)
"""Those that read otherwise in a command beside the runs, which has no flags of a run."""


def advice(hint: str | None, remedy: Remedy | None) -> str | None:
    """`hint`, or in its place what a person at the command does about it."""
    return hint if remedy is None else REMEDIES[remedy.kind].format(name=remedy.name, hint=hint)


def command_advice(hint: str | None, remedy: Remedy) -> str | None:
    """What a person does about the failure of a command that is no run, which has fewer flags."""
    words = OF_COMMANDS.get(remedy.kind)
    return advice(hint, remedy) if words is None else words


def result_advice(result: PromptResult) -> str | None:
    """What a person does about the end of a prompt; `None` where nothing is to be done."""
    return advice(result.hint, None if result.stop is None else result.stop.remedy)
