"""What the server has: its models, and what each can do, asked once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio

from caliban_common.codec import dumps
from caliban_provider.call import Prepared
from caliban_provider.capabilities import ModelInfo
from caliban_provider.classify import error_for
from caliban_provider.errors import BadResponse, ModelUnavailable, NetworkError, ProviderError
from caliban_provider.http import HttpClient
from caliban_provider.json_fields import count, member, objects, parse, string
from caliban_provider_ollama.models import FAMILY, FOREIGN, ModelFacts, capabilities, facts_from
from caliban_provider_ollama.transport import Transport

MAX_MODELS = 200
"""How many of the server's models are listed."""

_MAX_ANSWER_BYTES = 16 * 1024 * 1024
_SHOW_S = 10.0
_AT_ONCE = 4


class Catalog:
    """The models of one server; `known` is what need not be asked.

    That a server cannot say what a model does is no error: the model is then taken as it comes.
    """

    def __init__(
        self, transport: Transport, http: HttpClient, known: Mapping[str, ModelFacts] | None = None
    ) -> None:
        self._transport = transport
        self._http = http
        self._facts: dict[str, ModelFacts | None] = dict(known or {})

    def known(self, model: str) -> ModelFacts | None:
        """What is known of `model` without asking."""
        return self._facts.get(model)

    async def facts(self, model: str) -> ModelFacts | None:
        """What the server tells of `model`; `None` when it tells nothing.

        Asked again only where there was no connection, or where the model was not there yet.
        """
        if model in self._facts:
            return self._facts[model]
        facts: ModelFacts | None = None
        with anyio.move_on_after(_SHOW_S):
            try:
                shown = await self._ask(self._transport.post("/api/show", dumps({"model": model})))
                facts = facts_from(model, shown)
            except (NetworkError, ModelUnavailable):
                return None
            except ProviderError:
                pass
        self._facts[model] = facts
        return facts

    async def window(self, model: str) -> int:
        """The window that `model` is loaded with, as far as the server tells; 0 where it is not loaded."""
        with anyio.move_on_after(_SHOW_S):
            try:
                running = await self._ask(self._transport.get("/api/ps"))
            except ProviderError:
                return 0
            return max((count(row, "context_length") for row in _named(running, model)), default=0)
        return 0

    async def list(self) -> tuple[ModelInfo, ...]:
        """The models that the server has, with what each can do. Raises `ProviderError`."""
        listed = await self._ask(self._transport.get("/api/tags"))
        if not isinstance(listed.get("models"), list):
            raise BadResponse("the list of models has no 'models'", hint="check the base URL")
        rows = [row for row in objects(listed, "models") if _name(row)][:MAX_MODELS]
        limiter = anyio.CapacityLimiter(_AT_ONCE)

        async def ask(name: str) -> None:
            async with limiter:
                await self.facts(name)

        async with anyio.create_task_group() as tasks:
            for row in rows:
                tasks.start_soon(ask, _name(row))
        return tuple(self._info(row) for row in rows)

    def _info(self, row: Mapping[str, Any]) -> ModelInfo:
        name = _name(row)
        size = string(member(row, "details"), "parameter_size")
        return ModelInfo(
            id=name,
            display_name=f"{name} ({size})" if size else name,
            capabilities=capabilities(self.known(name)),
        )

    async def _ask(self, prepared: Prepared) -> dict[str, Any]:
        async with self._http.stream(
            prepared.method, prepared.url, headers=prepared.headers, body=prepared.body
        ) as answer:
            body = await answer.read(_MAX_ANSWER_BYTES)
            if not 200 <= answer.status < 300:
                secrets = self._transport.secrets
                raise error_for(answer.status, answer.headers, body, provider=FAMILY, secrets=secrets)
            return parse(body, what="the answer", hint=FOREIGN)


def _named(running: Mapping[str, Any], model: str) -> tuple[Mapping[str, Any], ...]:
    """The rows of `model`, which has the tag `latest` where it is asked for without one."""
    names = (model, model if ":" in model.rpartition("/")[2] else f"{model}:latest")
    return tuple(row for row in objects(running, "models") if _name(row) in names)


def _name(row: Mapping[str, Any]) -> str:
    return string(row, "model") or string(row, "name")
