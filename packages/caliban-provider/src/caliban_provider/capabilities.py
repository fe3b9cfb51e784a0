"""What models can do."""

from __future__ import annotations

from msgspec import Struct

from caliban_provider.request import Effort


class Retirement(Struct, frozen=True, kw_only=True):
    """That a vendor takes a model's name out of service `on` a day, written YYYY-MM-DD.

    From then on requests fail, or another model answers them. `successor` is what the vendor says to ask
    instead, empty where that is not known. `as_of` is the day on which the table with it was true.
    """

    on: str
    as_of: str
    successor: str = ""


class Capabilities(Struct, frozen=True, kw_only=True):
    """Of one model; what is `None` is not known.

    `context_tokens` is the window, prompt and reply together, `input_tokens` the most that the prompt alone
    may have where that is less. `vision` and `documents` say whether it takes images and PDFs, the members
    behind them of which types and how large: bytes are those before base64, `image_side` is the longer side
    in pixels, `stills_only` says that an animation is refused. `efforts` are the levels of effort that it
    takes, in rising order; where they are not known it takes all or none, as `thinking` says. `retirement` is
    there where a day is known.
    """

    context_tokens: int | None = None
    input_tokens: int | None = None
    max_output_tokens: int | None = None
    tools: bool = True
    parallel_tools: bool = True
    vision: bool | None = None
    documents: bool | None = None
    image_types: tuple[str, ...] = ("image/png", "image/jpeg", "image/gif", "image/webp")
    image_bytes: int = 3_750_000
    image_side: int = 8000
    stills_only: bool = False
    document_bytes: int = 20_000_000
    document_pages: int = 100
    thinking: bool = False
    efforts: tuple[Effort, ...] | None = None
    prompt_cache: bool = False
    structured_output: bool = False
    retirement: Retirement | None = None

    @property
    def prompt_tokens(self) -> int | None:
        """How large a prompt may get: what it alone may have, or else the window; `None` is unknown."""
        limits = [limit for limit in (self.context_tokens, self.input_tokens) if limit is not None]
        return min(limits, default=None)


class ModelInfo(Struct, frozen=True, kw_only=True):
    """A model that a provider offers."""

    id: str
    display_name: str = ""
    capabilities: Capabilities = Capabilities()
