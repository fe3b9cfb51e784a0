"""The contract between Caliban and language models, and the kit to build and test a provider.

The names of the contract are re-exported here; the wires (`sse`, `ndjson`, `http`, `call`, `reader`), the
policies (`classify`, `retry`), `assemble`, `registry` and the kit in `testing` are imported from their
modules.
"""

from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import ErrorCategory, ProviderError
from caliban_provider.provider import Provider, ProviderFactory, ProviderOptions
from caliban_provider.request import CompletionRequest, Effort
from caliban_provider.stream import (
    BlockKind,
    BlockStart,
    BlockStop,
    InputDelta,
    MessageDelta,
    MessageStart,
    MessageStop,
    SignatureDelta,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)

__all__ = [
    "BlockKind",
    "BlockStart",
    "BlockStop",
    "Capabilities",
    "CompletionRequest",
    "Effort",
    "ErrorCategory",
    "InputDelta",
    "MessageDelta",
    "MessageStart",
    "MessageStop",
    "ModelInfo",
    "Provider",
    "ProviderError",
    "ProviderFactory",
    "ProviderOptions",
    "SignatureDelta",
    "StreamEvent",
    "TextDelta",
    "ThinkingDelta",
]
