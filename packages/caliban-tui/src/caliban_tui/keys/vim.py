"""Editing as in vim, on prompt-toolkit's vi mode. Importing this loads prompt-toolkit."""

from __future__ import annotations

from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.key_binding.vi_state import InputMode


def is_vim(app: Application[Any]) -> bool:
    """Whether keys are those of vim."""
    return app.editing_mode == EditingMode.VI


def is_typing(app: Application[Any]) -> bool:
    """Whether characters go into the draft."""
    return not is_vim(app) or app.vi_state.input_mode != InputMode.NAVIGATION


def is_busy(app: Application[Any]) -> bool:
    """Whether Escape means something here: to leave a mode, a selection, or a command half typed."""
    has_selection = app.current_buffer.selection_state is not None
    if not is_vim(app):
        return has_selection
    return (
        has_selection
        or is_typing(app)
        or app.vi_state.operator_func is not None
        or app.key_processor.arg is not None
        or bool(app.key_processor.key_buffer)
    )
