"""What models can do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Of one model. `context_tokens` is the window, prompt and reply together; `None` is unknown."""

    context_tokens: int | None = None
    max_output_tokens: int | None = None
    tools: bool = True
    parallel_tools: bool = True
    vision: bool = False
    documents: bool = False
    thinking: bool = False
    prompt_cache: bool = False
    structured_output: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """A model that a provider offers."""

    id: str
    display_name: str = ""
    capabilities: Capabilities = Capabilities()
