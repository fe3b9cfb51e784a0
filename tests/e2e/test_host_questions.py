"""What MCP servers ask, put to the program on the other end: the real command, real servers, frames."""

from __future__ import annotations

import json

from hosted_kit import ToolHost
from mcp_kit import given

from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("Done."))
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2, "format": "email"},
        "n": {"type": "integer", "default": 3, "maximum": 9, "description": "How many."},
        "kind": {"type": "string", "enum": ["a", "b"], "enumNames": ["Ay", "Bee"]},
        "more": {"type": "array", "items": {"type": "string", "enum": ["x"]}, "maxItems": 1},
        "sure": {"type": "boolean"},
    },
    "required": ["name"],
}
ASKS = {"message": "Who\u200b are you?", "requestedSchema": FORM}
URL = {"mode": "url", "message": "Log in.", "url": "https://example.com/x", "elicitationId": "e1"}
SERVERS = given(desk={"tools": {"form": {"asks": ASKS}, "address": {"asks": URL}}})
SEEN = {
    "type": "object",
    "properties": {
        "name": {"title": "Your name", "type": "string", "format": "email", "minLength": 2},
        "n": {"title": "n", "description": "How many.", "type": "integer", "maximum": 9, "default": 3},
        "kind": {
            "title": "kind",
            "type": "string",
            "oneOf": [{"const": "a", "title": "Ay"}, {"const": "b", "title": "Bee"}],
        },
        "more": {
            "title": "more",
            "type": "array",
            "items": {"anyOf": [{"const": "x", "title": "x"}]},
            "maxItems": 1,
        },
        "sure": {"title": "sure", "type": "boolean"},
    },
    "required": ["name"],
}


def asked(cli, answers, *flags: str, tools=("form",)):
    """What the server was told by each call, what the host was asked, and the host."""
    left = list(answers)
    calls = [
        wire.exchange(wire.tool_use(f"mcp__desk__{name}", {}, id=f"c{n}")) for n, name in enumerate(tools)
    ]
    cli.script(*calls, DONE)

    def others(request):
        return left.pop(0) if request["subtype"] == "elicitation" else None

    flags = ("--allow", "mcp__desk__*", "--mcp-config", SERVERS, *flags)
    host = ToolHost(cli, {}, *flags, others=others, named=False)
    frames = host.prompt("go")
    heard = [json.loads(frame["content"][0]["text"]) for frame in frames if frame["type"] == "tool_result"]
    code, _ = host.end()
    assert code == 0
    return heard, [one for one in host.requests if one["subtype"] == "elicitation"]


def done(**body):
    return {"subtype": "success", "response": body}


def test_a_host_that_answers_questions_is_asked_what_servers_ask(cli):
    answers = [
        done(action="accept", content={"name": "ada@example.com", "kind": "b"}),
        done(action="accept"),
        done(action="accept", content={"name": "x"}),
        done(action="decline"),
        done(action="perhaps"),
        {"subtype": "error", "error": "Unsupported control request subtype: elicitation"},
    ]
    tools = ("form", "address", "form", "form", "address", "form")
    heard, requests = asked(cli, answers, "--permission-prompt-tool", "stdio", tools=tools)
    assert heard[0] == {"action": "accept", "content": {"name": "ada@example.com", "n": 3, "kind": "b"}}
    assert [one["action"] for one in heard[1:]] == ["accept", "decline", "decline", "cancel", "cancel"]
    assert requests[0] == {
        "subtype": "elicitation",
        "mcp_server_name": "desk",
        "message": "Who are you?",
        "mode": "form",
        "requested_schema": SEEN,
        "property_order": ["name", "n", "kind", "more", "sure"],
    }
    assert requests[1] == {
        "subtype": "elicitation",
        "mcp_server_name": "desk",
        "message": "Log in.",
        "mode": "url",
        "url": "https://example.com/x",
    }


def test_a_host_that_answers_no_questions_is_not_asked_and_they_are_declined(cli):
    heard, requests = asked(cli, [])
    assert [one["action"] for one in heard] == ["decline"]
    assert requests == []
