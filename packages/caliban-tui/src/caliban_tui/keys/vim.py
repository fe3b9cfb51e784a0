"""What prompt-toolkit's vi mode is about. Importing this loads prompt-toolkit."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from prompt_toolkit.application import Application
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.key_binding.vi_state import InputMode

VimMode: TypeAlias = Literal["", "insert", "normal", "replace", "visual"]


def is_vim(app: Application[Any]) -> bool:
    """Whether keys are those of vim."""
    return app.editing_mode == EditingMode.VI


def vim_mode(app: Application[Any]) -> VimMode:
    """The mode that vim is in; empty where keys are those of emacs."""
    if not is_vim(app):
        return ""
    if app.current_buffer.selection_state is not None:
        return "visual"
    match app.vi_state.input_mode:
        case InputMode.NAVIGATION:
            return "normal"
        case InputMode.REPLACE | InputMode.REPLACE_SINGLE:
            return "replace"
        case _:
            return "insert"


def is_typing(app: Application[Any]) -> bool:
    """Whether characters go into the draft."""
    return not is_vim(app) or app.vi_state.input_mode != InputMode.NAVIGATION


def is_inserting(app: Application[Any]) -> bool:
    """Whether vim inserts."""
    return is_vim(app) and app.vi_state.input_mode == InputMode.INSERT


def is_idle(app: Application[Any], *, counting: bool = False) -> bool:
    """Whether vim waits for a command; `counting` takes one whose count is typed for that too."""
    return (
        app.vi_state.input_mode == InputMode.NAVIGATION
        and app.vi_state.operator_func is None
        and (counting or app.key_processor.arg is None)
        and not app.key_processor.key_buffer
        and app.current_buffer.selection_state is None
        and not app.vi_state.waiting_for_digraph
    )


def is_busy(app: Application[Any]) -> bool:
    """Whether Escape means something here: to leave a mode, a selection, or a command half typed."""
    return not is_idle(app) if is_vim(app) else app.current_buffer.selection_state is not None
