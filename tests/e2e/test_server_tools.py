"""Tools that vendors run themselves, by name in the options: each wire's own, and back untouched."""

from __future__ import annotations

import pytest

from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire as anthropic
from caliban_provider_anthropic.testing.strict import StrictValidator
from caliban_provider_google.testing import wire as google
from caliban_provider_google.testing.strict import StrictValidator as StrictGoogle
from caliban_provider_openai.testing import responses
from caliban_provider_openai.testing.strict_responses import StrictResponses

SEARCH = '[provider.{name}.options]\nserver_tools = ["web_search"]\n'


def two_turns(cli, name, exchanges, validator, env):
    """The bodies of two turns of one session."""
    variable, *_ = env
    with LoopbackServer(exchanges, validator=validator) as server:
        environ = {**env, variable: server.url}
        one = cli.run("-p", "Who won?", "--provider", name, "--session", "s", env=environ)
        two = cli.run("-p", "And when?", "--provider", name, "-r", "s", env=environ)
        assert (one.code, one.out, two.code, two.out) == (0, "They did.\n", 0, "Then.\n"), one.err + two.err
        return [request.json for request in server.requests]


def test_anthropics_search_is_offered_and_its_blocks_go_back_as_they_came(cli):
    cli.configure(SEARCH.format(name="anthropic"))
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search"}
    result = {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "url": "https://a.example", "encrypted_content": "E="}],
    }
    blocks = (anthropic.server_block(call, input={"query": "q"}), anthropic.server_block(result))
    exchanges = [
        anthropic.exchange(*blocks, anthropic.text("They did.")),
        anthropic.exchange(anthropic.text("Then.")),
    ]
    env = {"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_KEY": "k"}
    first, second = two_turns(cli, "anthropic", exchanges, StrictValidator(), env)
    assert first["tools"][0] == second["tools"][0] == {"type": "web_search_20250305", "name": "web_search"}
    assert second["messages"][1]["content"][:2] == [{**call, "input": {"query": "q"}}, result]


def test_openais_search_is_offered_and_its_items_go_back_as_they_came(cli):
    cli.configure(SEARCH.format(name="openai") + 'api = "responses"\n')
    call = {
        "id": "ws_1",
        "type": "web_search_call",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    }
    exchanges = [
        responses.exchange(responses.hosted(call), responses.text("They did.")),
        responses.exchange(responses.text("Then.")),
    ]
    env = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "k"}
    first, second = two_turns(cli, "openai", exchanges, StrictResponses(), env)
    assert first["tools"][0] == second["tools"][0] == {"type": "web_search"}
    assert second["input"][1] == call


def test_googles_search_is_offered_and_its_parts_go_back_as_they_came(cli):
    cli.configure(SEARCH.format(name="google"))
    call = {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB"}, "thoughtSignature": "U2ln"}
    result = {"toolResponse": {"id": "t1", "response": {}}, "thoughtSignature": "U2lo"}
    grounding = {"groundingMetadata": {"webSearchQueries": ["q"]}}
    exchanges = [
        google.exchange(
            google.part(**call), google.part(**result), google.text("They did."), candidate=grounding
        ),
        google.exchange(google.text("Then.")),
    ]
    env = {"GEMINI_BASE_URL": "", "GEMINI_API_KEY": "k"}
    first, second = two_turns(cli, "google", exchanges, StrictGoogle(), env)
    assert first["tools"][-1] == second["tools"][-1] == {"googleSearch": {}}
    assert first["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert second["contents"][1]["parts"][:2] == [call, result]


@pytest.mark.parametrize(
    ("flags", "settings", "env", "code", "told"),
    [
        (("ollama",), SEARCH.format(name="ollama"), {}, 78, "no option 'server_tools'"),
        (("bedrock",), SEARCH.format(name="bedrock"), {}, 78, "no option 'server_tools'"),
        (
            ("openai", "--base-url", "http://127.0.0.1:9"),
            SEARCH.format(name="openai"),
            {"OPENAI_API_KEY": "k"},
            78,
            "the interface chat has no web_search",
        ),
        (
            ("anthropic",),
            '[provider.anthropic.options]\nserver_tools = ["bath"]\n',
            {},
            78,
            "server_tools knows web_search, not 'bath'",
        ),
        (
            ("google", "--model", "gemini-2.5-flash"),
            SEARCH.format(name="google"),
            {"GEMINI_API_KEY": "k", "GEMINI_BASE_URL": "http://127.0.0.1:9"},
            1,
            "does not search the web while it has other tools",
        ),
        (
            ("google",),
            SEARCH.format(name="google") + 'project = "p"\n',
            {"GOOGLE_CLOUD_ACCESS_TOKEN": "t"},
            78,
            "Vertex has no web_search",
        ),
    ],
)
def test_what_a_wire_does_not_have_is_refused_by_name(cli, flags, settings, env, code, told):
    cli.configure(settings)
    done = cli.run("-p", "hi", "--provider", *flags, env=env)
    assert (done.code, told in done.err) == (code, True), done.err


def test_an_answer_that_its_vendor_pauses_is_printed_whole(cli):
    paused = anthropic.exchange(anthropic.text("It was "), stop_reason="pause_turn")
    cli.script(paused, anthropic.exchange(anthropic.text("them.")))
    done = cli.run("-p", "Who won?")
    assert (done.code, done.out) == (0, "It was them.\n"), done.err
