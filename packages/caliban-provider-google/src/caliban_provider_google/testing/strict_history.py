"""The vendor's rules for contents and their parts."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from caliban_provider_google.testing.refusal import Refused, need, need_keys

_KINDS = frozenset(
    {
        "text",
        "inlineData",
        "fileData",
        "functionCall",
        "functionResponse",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
    }
)
_BESIDE = frozenset({"thought", "thoughtSignature", "partMetadata", "videoMetadata"})
_CALL = frozenset({"id", "name", "args"})
_RESPONSE = frozenset({"id", "name", "response", "parts", "scheduling"})

Content = Mapping[str, Any]


def check_contents(contents: object, *, must_sign: bool) -> None:
    """Raise `Refused` for contents that the vendor would refuse.

    `must_sign` says that the first call of each content of the model must carry a signature.
    """
    if not isinstance(contents, list) or not contents:
        raise Refused("* GenerateContentRequest.contents: contents is not specified")
    for place, content in enumerate(contents):
        where = f"contents[{place}]"
        need_keys(content, frozenset({"role", "parts"}), where)
        role = content.get("role")
        need(role in ("user", "model"), f"{where}.role: Please use a valid role: user, model.")
        parts = content.get("parts")
        need(isinstance(parts, list) and parts, f"{where}.parts must not be empty.")
        for number, part in enumerate(parts):
            _check_part(part, role, f"{where}.parts[{number}]")
    need(contents[0]["role"] == "user", "contents: the first content must be of role 'user'")
    need(contents[-1]["role"] == "user", "Please ensure that multiturn requests end with a user role")
    roles = [content["role"] for content in contents]
    need(all(one != other for one, other in pairwise(roles)), "contents: roles must alternate")
    _check_pairs(contents)
    if must_sign:
        _check_signed(contents)


def _check_part(value: object, role: str, where: str) -> None:
    part: dict[str, Any] = need_keys(value, _KINDS | _BESIDE, where)
    kinds = part.keys() & _KINDS
    need(len(kinds) == 1, f"{where}.data: required oneof field 'data' must have one initialized field")
    signature = part.get("thoughtSignature")
    if signature is not None:
        need(role == "model", f"{where}.thought_signature: only the model signs")
        need(_is_base64(signature), f"{where}.thought_signature: Base64 decoding failed")
    need(part.get("thought") in (None, True, False), f"{where}.thought: not a boolean")
    match next(iter(kinds)):
        case "text":
            text = part["text"]
            need(isinstance(text, str), f"{where}.text: not a string")
            need(text or signature, f"{where}.text: must not be empty")
        case "functionCall":
            call = need_keys(part["functionCall"], _CALL, f"{where}.function_call")
            need(role == "model", f"{where}.function_call: only the model calls")
            need(call.get("name"), f"{where}.function_call.name: Name cannot be empty.")
            need(isinstance(call.get("args", {}), dict), f"{where}.function_call.args: not an object")
        case "functionResponse":
            response = need_keys(part["functionResponse"], _RESPONSE, f"{where}.function_response")
            need(role == "user", f"{where}.function_response: only the user answers")
            need(response.get("name"), f"{where}.function_response.name: Name cannot be empty.")
            need(isinstance(response.get("response"), dict), f"{where}.function_response.response: required")
        case "inlineData":
            blob = need_keys(part["inlineData"], frozenset({"mimeType", "data"}), f"{where}.inline_data")
            need(blob.get("mimeType"), f"{where}.inline_data.mime_type: required")
            need(_is_base64(blob.get("data")), f"{where}.inline_data.data: Base64 decoding failed")


def _check_pairs(contents: Sequence[Content]) -> None:
    """The content after one with calls answers each of them, in one content and by name and id."""
    opened: list[Mapping[str, Any]] = []
    for content in contents:
        answers = _members(content, "functionResponse")
        if content["role"] == "user":
            need(
                len(answers) == len(opened),
                "Please ensure that the number of function response parts is equal to the number of function "
                "call parts of the function call turn.",
            )
            for called, answered in zip(opened, answers, strict=True):
                same = (called["name"], called.get("id")) == (answered["name"], answered.get("id"))
                need(same, f"the function response {answered['name']!r} does not match its call")
            heads = [next(iter(part.keys() & _KINDS)) for part in content["parts"][: len(answers)]]
            need(all(head == "functionResponse" for head in heads), "function responses must come first")
            opened = []
        else:
            opened = _members(content, "functionCall")
    need(not opened, "a function call is not answered")


def _check_signed(contents: Sequence[Content]) -> None:
    for place, content in enumerate(contents):
        calls = [part for part in content["parts"] if "functionCall" in part]
        need(
            not calls or calls[0].get("thoughtSignature"),
            f"Function call is missing a thought_signature in functionCall parts. contents[{place}]",
        )


def _members(content: Content, name: str) -> list[Mapping[str, Any]]:
    return [part[name] for part in content["parts"] if name in part]


def _is_base64(data: object) -> bool:
    if not isinstance(data, str) or not data:
        return False
    try:
        return bool(
            b64decode(data.replace("-", "+").replace("_", "/") + "=" * (-len(data) % 4), validate=True)
        )
    except ValueError:
        return False
