"""The vendors' own clients, synchronous and over a transport in memory: bytes to what a reply says.

A client that is not installed raises `ImportError`, some of them only when they read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from benchkit.streams import Written

Said: TypeAlias = tuple[str, list[Any]]
"""The text of a reply, and the arguments of its calls."""

Client: TypeAlias = Callable[[], Said]
"""Asks once, and reads the reply to its end."""

_URL = "http://vendor"
_ASKED: Any = [{"role": "user", "content": "Go on."}]


def anthropic(written: Written, chunks: Sequence[bytes]) -> Client:
    """`anthropic.Anthropic`, with its own accumulation."""
    import anthropic

    return _messages(
        anthropic.Anthropic(api_key="k", base_url=_URL, max_retries=0, http_client=_httpx2(written, chunks)),
        written.model,
    )


def bedrock(written: Written, chunks: Sequence[bytes]) -> Client:
    """`anthropic.AnthropicBedrock`, whose event stream is botocore's."""
    import anthropic
    import botocore.eventstream  # type: ignore[import-untyped]  # noqa: F401

    options: Any = {"api_key": "k", "aws_region": "us-east-1", "base_url": _URL, "max_retries": 0}
    return _messages(
        anthropic.AnthropicBedrock(**options, http_client=_httpx2(written, chunks)), written.model
    )


def vertex(written: Written, chunks: Sequence[bytes]) -> Client:
    """`anthropic.AnthropicVertex`."""
    import anthropic

    options: Any = {"access_token": "t", "region": "us-east5", "project_id": "p", "base_url": f"{_URL}/v1"}
    client = anthropic.AnthropicVertex(**options, max_retries=0, http_client=_httpx2(written, chunks))
    return _messages(client, written.model)


def openai_responses(written: Written, chunks: Sequence[bytes]) -> Client:
    """`openai.OpenAI().responses`, with its own accumulation."""
    client = _openai(written, chunks)

    def ask() -> Said:
        with client.responses.stream(model=written.model, input="Go on.") as stream:
            response = stream.get_final_response()
        calls = [item.arguments for item in response.output if item.type == "function_call"]
        return response.output_text, calls

    return ask


def openai_chat(written: Written, chunks: Sequence[bytes]) -> Client:
    """`openai.OpenAI().chat.completions`, with its own accumulation."""
    client = _openai(written, chunks)

    def ask() -> Said:
        with client.chat.completions.stream(model=written.model, messages=_ASKED) as stream:
            message = stream.get_final_completion().choices[0].message
        return message.content or "", [call.function.arguments for call in message.tool_calls or ()]

    return ask


def google(written: Written, chunks: Sequence[bytes]) -> Client:
    """`google.genai`, which leaves accumulating to its user."""
    from google import genai
    from google.genai import types

    options = types.HttpOptions(base_url=_URL, httpx_client=_httpx2(written, chunks))
    client = genai.Client(api_key="k", http_options=options, vertexai=False)

    def ask() -> Said:
        texts: dict[bool, list[str]] = {False: [], True: []}
        calls: list[Any] = []
        for response in client.models.generate_content_stream(model=written.model, contents="Go on."):
            for candidate in response.candidates or ():
                for part in (candidate.content and candidate.content.parts) or ():
                    if part.text:
                        texts[bool(part.thought)].append(part.text)
                    if part.function_call:
                        calls.append(part.function_call.args)
        _ = "".join(texts[True])
        return "".join(texts[False]), calls

    return ask


def ollama(written: Written, chunks: Sequence[bytes]) -> Client:
    """`ollama.Client`, which leaves accumulating to its user."""
    import httpx
    import ollama

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers=_head(written), content=iter(chunks))

    client = ollama.Client(host=_URL, transport=httpx.MockTransport(answer))

    def ask() -> Said:
        thoughts: list[str] = []
        texts: list[str] = []
        calls: list[Any] = []
        for response in client.chat(model=written.model, messages=_ASKED, stream=True):
            thoughts.append(response.message.thinking or "")
            texts.append(response.message.content or "")
            calls += [dict(call.function.arguments) for call in response.message.tool_calls or ()]
        _ = "".join(thoughts)
        return "".join(texts), calls

    return ask


def _messages(client: Any, model: str) -> Client:
    def ask() -> Said:
        with client.messages.stream(model=model, max_tokens=9, messages=_ASKED) as stream:
            blocks = stream.get_final_message().content
        text = "".join(block.text for block in blocks if block.type == "text")
        return text, [block.input for block in blocks if block.type == "tool_use"]

    return ask


def _openai(written: Written, chunks: Sequence[bytes]) -> Any:
    import openai

    return openai.OpenAI(
        api_key="k", base_url=f"{_URL}/v1", max_retries=0, http_client=_httpx2(written, chunks)
    )


def _httpx2(written: Written, chunks: Iterable[bytes]) -> Any:
    import httpx2

    def answer(_: Any) -> Any:
        return httpx2.Response(200, headers=_head(written), content=iter(chunks))

    return httpx2.Client(transport=httpx2.MockTransport(answer))


def _head(written: Written) -> dict[str, str]:
    return {"content-type": written.content_type}


CLIENTS: Mapping[str, Callable[[Written, Sequence[bytes]], Client]] = MappingProxyType(
    {
        "anthropic": anthropic,
        "openai responses": openai_responses,
        "openai chat": openai_chat,
        "google": google,
        "ollama": ollama,
        "bedrock": bedrock,
        "vertex": vertex,
    }
)
"""By the name of the row that is measured with it."""
