"""What would help against a failure, as a value: a library names it, a face says how its own users do it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

RemedyKind: TypeAlias = Literal[
    "attachment_budget",
    "attachment_size",
    "budget_limit",
    "image_size",
    "images_extra",
    "local_models",
    "local_weights",
    "local_window",
    "model_file",
    "other_provider",
    "other_route",
    "pdf_extra",
    "route_for_purpose",
    "seeing_model",
    "session_directory",
    "session_fork",
    "session_new",
    "session_other",
    "session_space",
    "settings_overlay",
    "settings_scopes",
    "token_limit",
    "tool_package",
    "turn_limit",
]
"""One for each thing to do that a face may have a flag or a command for."""


class Remedy(Struct, frozen=True, kw_only=True):
    """What to do next, in no face's words; `name` is what it is done with or to, where the kind has one."""

    kind: RemedyKind
    name: str = ""
