"""The provider: a model in this process behind the contract that every provider keeps."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import ProviderError
from caliban_provider.provider import ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider_local.decode import ChunkDecoder
from caliban_provider_local.encode import Encoded, encode
from caliban_provider_local.model import LocalModel, find_model
from caliban_provider_local.options import LocalOptions, read_options
from caliban_provider_local.runtime import Loader, Runtime, load_runtime
from caliban_provider_local.weights import PACKAGED_MODEL, packaged_weights
from caliban_provider_local.worker import Job, Worker

StatusSink: TypeAlias = Callable[[str], None]
Chunk: TypeAlias = Mapping[str, Any]

_END_WAIT_S = 5.0
_CLOSE_WAIT_S = 10.0


class LocalProvider:
    """Answers with a model that runs in this process: no key, no network.

    The model is loaded by the first stream and kept; a request for another model replaces it. One reply is
    made at a time, others wait for it. Set `status_sink` (or pass `on_status`) to be told in one line, on the
    event loop, what is about to be loaded: loading holds Python's lock, so nothing else moves meanwhile.
    `first_byte_s` and `idle_s` are not used: there is no wire that could fall silent.
    """

    name = "local"
    family = "local"

    def __init__(
        self, options: ProviderOptions, *, on_status: StatusSink | None = None, load: Loader = load_runtime
    ) -> None:
        self.status_sink = on_status
        self._options = read_options(options.extra)
        self._engine = _Engine(load, self._options)
        self._worker = Worker("caliban-local")
        self._models: dict[str, LocalModel] = {}
        self._announced: LocalModel | None = None

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do as it will be loaded; reads the head of its file once."""
        try:
            return self._model(model).capabilities()
        except ProviderError:
            return Capabilities(
                tools=False, parallel_tools=False, vision=False, documents=False, structured_output=True
            )

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        """Ask for one reply; the model is loaded first if it is not yet.

        Leaving early stops the model after the token at hand, or while it reads the prompt after the few
        dozen tokens at hand. Raises `ProviderError`: `ContextTooLong` with the numbers when the prompt does
        not fit, for nothing is ever cut off silently.
        """
        model = self._model(request.model)
        encoded = encode(request, model, seed=self._options.seed)
        self._announce(model)
        job: Job[Chunk] = self._worker.start(lambda job: self._engine.answer(model, encoded, job))
        decoder = ChunkDecoder(
            model=model.id,
            reply_form=encoded.reply_form,
            max_tokens=request.max_tokens,
            context_tokens=model.context_tokens,
        )
        events = _events(job, decoder)
        try:
            yield events
        finally:
            await events.aclose()
            await job.end(within_s=_END_WAIT_S)

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The packaged model where its weights are installed; any GGUF file works too, by its path."""
        if packaged_weights() is None:
            return ()
        model = self._model(PACKAGED_MODEL)
        return (ModelInfo(id=model.id, display_name=model.title, capabilities=model.capabilities()),)

    async def aclose(self) -> None:
        """Stop, give the model's memory back and end its thread."""
        await self._worker.close(self._engine.unload, within_s=_CLOSE_WAIT_S)

    def _model(self, name: str) -> LocalModel:
        model = self._models.get(name)
        if model is None:
            model = self._models[name] = find_model(name, self._options)
        return model

    def _announce(self, model: LocalModel) -> None:
        if model is self._announced:
            return
        self._announced = model
        if self.status_sink is not None:
            self.status_sink(f"loading {model.title}")


class _Engine:
    """What lives on the model's thread: the one loaded runtime."""

    def __init__(self, load: Loader, options: LocalOptions) -> None:
        self._load = load
        self._options = options
        self._model: LocalModel | None = None
        self._runtime: Runtime | None = None

    def answer(self, model: LocalModel, encoded: Encoded, job: Job[Chunk]) -> None:
        """Push the chunks of one reply."""
        if self._runtime is None or self._model is not model:
            self.unload()
            self._runtime = self._load(model, self._options)
            self._model = model
        self._runtime.chat(encoded.body, job.push)

    def unload(self) -> None:
        """Give the memory back."""
        self._model = self._runtime = None


async def _events(job: Job[Chunk], decoder: ChunkDecoder) -> AsyncGenerator[StreamEvent]:
    async for chunk in job:
        for event in decoder.feed(chunk):
            yield event
    for event in decoder.close():
        yield event
