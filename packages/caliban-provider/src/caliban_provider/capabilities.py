"""What models can do."""

from __future__ import annotations

from msgspec import Struct


class Capabilities(Struct, frozen=True, kw_only=True):
    """Of one model. `context_tokens` is the window, prompt and reply together; `None` is unknown.

    `effort` says whether it takes a level of effort, where that is not as `thinking`.
    """

    context_tokens: int | None = None
    max_output_tokens: int | None = None
    tools: bool = True
    parallel_tools: bool = True
    vision: bool = False
    documents: bool = False
    thinking: bool = False
    effort: bool | None = None
    prompt_cache: bool = False
    structured_output: bool = False


class ModelInfo(Struct, frozen=True, kw_only=True):
    """A model that a provider offers."""

    id: str
    display_name: str = ""
    capabilities: Capabilities = Capabilities()
