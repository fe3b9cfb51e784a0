"""Messages of Chat Completions; what the wire would refuse is left out or said in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caliban_common.codec import dumps
from caliban_common.message import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from caliban_provider_openai.body import document_text, image_url, pdf_url, result_text, unseen
from caliban_provider_openai.chat.kept import DETAILS, EXTRA
from caliban_provider_openai.models import FAMILY
from caliban_provider_openai.names import IdRule, wire_name
from caliban_provider_openai.quirks import Quirks

SEEN_BELOW = "(see the image in the next message)"
"""Stands in a result that is an image: the wire takes text alone there, and images after it."""

READ_BELOW = "(see the document in the next message)"
"""The same for a document."""

REPLAYED = "reasoning_content"
"""The field of servers (DeepSeek, Moonshot) that refuse calls without reasoning, whoever made them."""

UNKNOWN = " "
"""The reasoning of another model. Moonshot takes an empty text for none."""


def id_rule(quirks: Quirks) -> IdRule:
    """What a call's id looks like for this server."""
    return IdRule(chars=quirks.id_chars, extra=quirks.id_extra, exact=quirks.id_exact)


BETWEEN = b'{"role":"assistant","content":"(the results are noted)"}'
"""Stands between a tool's result and a user's message where a server wants somebody to speak there."""


def spaced(items: list[bytes], *, after_tool: bool) -> tuple[list[bytes], bool]:
    """`items` with the model's word before each user's message that follows a tool's result.

    `after_tool` says whether the message before them is a result; with them comes whether the last one is.
    """
    out: list[bytes] = []
    for item in items:
        if after_tool and item.startswith(b'{"role":"user"'):
            out.append(BETWEEN)
        after_tool = item.startswith(b'{"role":"tool"')
        out.append(item)
    return out, after_tool


def message_json(
    message: Message, quirks: Quirks, *, own: bool, own_ids: frozenset[str] = frozenset()
) -> list[bytes]:
    """The wire's messages for one of ours, results first; none for one that says nothing.

    `own` says that the model that reads wrote it: its reasoning goes back to it where the server wants that,
    and so does whatever a server added to the reply for itself. Ids that are in `own_ids` stay as they are.
    """
    if message.role == "assistant":
        made = _assistant(message.content, quirks, own=own, own_ids=own_ids)
        return [dumps(made)] if made is not None else []
    rule = id_rule(quirks)
    out: list[dict[str, Any]] = []
    blocks: list[Block] = []
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            out.append(_result(block, rule, own_ids))
            blocks += [part for part in block.content if not isinstance(part, TextBlock)]
        else:
            blocks.append(block)
    parts = [part for block in blocks if (part := _user_part(block, quirks)) is not None]
    if parts:
        out.append({"role": "user", "content": _simplest(parts)})
    return [dumps(made) for made in out]


def _assistant(
    content: Sequence[Block], quirks: Quirks, *, own: bool, own_ids: frozenset[str]
) -> dict[str, Any] | None:
    texts = [block.text for block in content if isinstance(block, TextBlock) and block.text.strip()]
    rule = id_rule(quirks)
    kept = [block.data for block in content if isinstance(block, OpaqueBlock) and block.family == FAMILY]
    extras = {data["call_id"]: data[EXTRA] for data in kept if own and data.get("type") == EXTRA}
    calls = [_call(block, rule, own_ids, extras) for block in content if isinstance(block, ToolUseBlock)]
    if not texts and not calls:
        return None
    nothing = None if quirks.null_content else ""
    out: dict[str, Any] = {"role": "assistant", "content": "\n\n".join(texts) if texts else nothing}
    if quirks.reasoning_field:
        thoughts = [block.text for block in content if isinstance(block, ThinkingBlock) and block.text]
        if own and thoughts:
            out[quirks.reasoning_field] = "\n\n".join(thoughts)
        elif calls and quirks.reasoning_field == REPLAYED:
            out[quirks.reasoning_field] = UNKNOWN
    details = [data[DETAILS] for data in kept if own and data.get("type") == DETAILS]
    if details:
        out[DETAILS] = details[-1]
    if calls:
        out["tool_calls"] = calls
    return out


def _call(
    block: ToolUseBlock, rule: IdRule, own_ids: frozenset[str], extras: Mapping[str, Any]
) -> dict[str, Any]:
    function = {"name": wire_name(block.name), "arguments": dumps(dict(block.input)).decode()}
    made = {"id": rule.apply(block.id, own_ids), "type": "function", "function": function}
    return {**made, EXTRA: extras[block.id]} if block.id in extras else made


def _result(block: ToolResultBlock, rule: IdRule, own_ids: frozenset[str]) -> dict[str, Any]:
    texts = [part.text for part in block.content if isinstance(part, TextBlock) and part.text.strip()]
    shown = [part for part in block.content if not isinstance(part, TextBlock)]
    if shown and not texts:
        texts.append(SEEN_BELOW if all(isinstance(part, ImageBlock) for part in shown) else READ_BELOW)
    text = result_text("\n".join(texts), is_error=block.is_error)
    return {"role": "tool", "tool_call_id": rule.apply(block.tool_use_id, own_ids), "content": text}


def _user_part(block: Block, quirks: Quirks) -> dict[str, Any] | None:
    match block:
        case TextBlock():
            return _text(block.text) if block.text.strip() else None
        case ImageBlock():
            url = image_url(block)
            if url is None:
                return _text(unseen(block))
            return {"type": "image_url", "image_url": {"url": url}}
        case DocumentBlock():
            url = pdf_url(block) if quirks.files else None
            if url is None:
                return _text(document_text(block) or unseen(block))
            name = (block.title or "").strip() or "document"
            name = name if name.lower().endswith(".pdf") else f"{name}.pdf"
            return {"type": "file", "file": {"filename": name, "file_data": url}}
        case _:
            return None


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _simplest(parts: list[dict[str, Any]]) -> object:
    """Plain text where there is only text: some servers read nothing else."""
    if all(part["type"] == "text" for part in parts):
        return "\n\n".join([part["text"] for part in parts])
    return parts
