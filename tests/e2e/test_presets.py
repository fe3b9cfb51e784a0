"""Providers and models by name through the real command: presets, `provider/model`, errors in their name."""

from __future__ import annotations

import json

import pytest

from caliban_common.usage import Usage
from caliban_provider.testing.exchange import answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_openai.testing import chat
from caliban_provider_openai.testing.refusal import failure

GROQ = '[provider.groq]\nbase_url = "{url}"\n'


def test_a_preset_needs_its_name_its_key_and_a_model(cli):
    with LoopbackServer([chat.exchange(chat.text("from groq"))]) as server:
        cli.configure(GROQ.format(url=server.url))
        env = {"GROQ_API_KEY": "k1"}
        done = cli.run("--provider", "groq", "--model", "openai/gpt-oss-120b", "-p", "hi", env=env)
        assert (done.code, done.out) == (0, "from groq\n"), done.err
        asked = server.requests[0]
        assert (asked.path, asked.headers["authorization"]) == ("/chat/completions", "Bearer k1")
        assert json.loads(asked.body)["model"] == "openai/gpt-oss-120b"


@pytest.mark.parametrize(
    ("settings", "args"),
    [
        ("", ("--model", "groq/openai/gpt-oss-120b")),
        ('model = "groq/openai/gpt-oss-120b"\n', ()),
        ('model = "claude-opus-5"\n', ("--model", "groq/openai/gpt-oss-120b")),
        ('model = { provider = "groq", name = "x" }\n', ("--model", "openai/gpt-oss-120b")),
    ],
)
def test_a_provider_may_stand_before_its_model_and_a_slash_of_the_id_stays(cli, settings, args):
    with LoopbackServer([chat.exchange(chat.text("from groq"))]) as server:
        cli.configure(settings + GROQ.format(url=server.url))
        done = cli.run(*args, "-p", "hi", env={"GROQ_API_KEY": "k1"})
        assert (done.code, done.out) == (0, "from groq\n"), done.err
        assert json.loads(server.requests[0].body)["model"] == "openai/gpt-oss-120b"


def test_a_fallback_may_be_of_another_provider(cli):
    with (
        LoopbackServer(default=failure(404, "no such model", code="model_not_found")) as first,
        LoopbackServer([chat.exchange(chat.text("second"))]) as second,
    ):
        cli.configure(
            GROQ.format(url=first.url)
            + f'[provider.mistral]\nbase_url = "{second.url}/v1"\n'
            + '[[router.route]]\npurpose = "main_loop"\nmodel = "groq/llama"\n'
            + '[[router.route]]\npurpose = "main_loop"\nmodel = "mistral/devstral"\n'
        )
        done = cli.run("-p", "hi", env={"GROQ_API_KEY": "a", "MISTRAL_API_KEY": "b"})
        assert (done.code, done.out) == (0, "second\n"), done.err


def test_an_error_names_the_provider_and_the_variable_of_its_key(cli):
    with LoopbackServer(default=failure(401, "bad key", code="invalid_api_key")) as server:
        cli.configure(GROQ.format(url=server.url))
        done = cli.run("--provider", "groq", "--model", "m", "-p", "hi", env={"GROQ_API_KEY": "k1"})
    assert done.code == 1
    assert "groq does not accept the key" in done.err and "GROQ_API_KEY" in done.err
    assert "openai" not in done.err


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:99999/v1", "http://127.0.0.1:-1", "ftp://x", "http://", "http://:80", "http://a b/v1"],
)
def test_an_address_that_is_none_is_refused_before_anything_is_sent(cli, url):
    done = cli.run("--provider", "openai", "--base-url", url, "-p", "hi", env={"OPENAI_API_KEY": "k"})
    assert done.code == 78 and "OverflowError" not in done.err and "URL" in done.err, done.err


def test_the_waits_of_a_provider_are_settings(cli):
    from caliban_provider.testing.loopback import Exchange, Hang, Send

    silent = Exchange(
        headers={"content-type": "text/event-stream"}, steps=(Send(b": ping\n\n"), Hang()), chunked=True
    )
    for limit in ("first_byte_s = 0.2", "total_s = 0.2"):
        with LoopbackServer(default=silent) as server:
            cli.configure(GROQ.format(url=server.url) + limit + "\n")
            done = cli.run("--provider", "groq", "--model", "m", "-p", "hi", env={"GROQ_API_KEY": "k1"})
        assert done.code == 1 and "within 0.2 s" in done.err, done.err


def test_providers_are_listed_with_their_addresses_and_the_variables_of_their_keys(cli):
    listed = cli.run("models", "--providers", "--json", env={"GROQ_API_KEY": "k1"}).out.splitlines()
    rows = {row["name"]: row for row in map(json.loads, listed)}
    assert rows["groq"] == {
        "name": "groq",
        "kind": "openai",
        "base_url": "https://api.groq.com/openai/v1",
        "key": "GROQ_API_KEY",
        "has_key": True,
    }
    assert rows["lm-studio"]["key"] is None and {"anthropic", "openrouter", "minimax"} <= rows.keys()
    assert "PROVIDER" in cli.run("models", "--providers").out


DESCRIBED = """
[provider.groq.options]
extra_body = { thinking = { type = "enabled" } }
service_tier = "flex"
[provider.groq.models."new/model.x"]
window = 9000
max_output = 1234
price = { input = 2, output = 10 }
"""


def test_what_only_a_request_knows_and_what_a_model_is_are_settings(cli):
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000)
    with LoopbackServer([chat.exchange(chat.text("hi"), usage=usage)]) as server:
        cli.configure(GROQ.format(url=server.url) + DESCRIBED)
        args = ("--provider", "groq", "--model", "new/model.x", "-p", "hi", "--output-format", "json")
        done = cli.run(*args, env={"GROQ_API_KEY": "k1"})
        assert done.code == 0, done.err
        body = json.loads(server.requests[0].body)
    assert (body["thinking"], body["service_tier"]) == ({"type": "enabled"}, "flex")
    assert body["max_completion_tokens" if "max_completion_tokens" in body else "max_tokens"] == 1234
    assert json.loads(done.out)["total_cost_usd"] == pytest.approx(3.0)


@pytest.mark.parametrize("by_flag", [False, True])
def test_a_preset_behind_a_proxy_keeps_the_habits_of_its_server(cli, by_flag):
    with LoopbackServer([chat.exchange(chat.text("done"))]) as server:
        args = ("--base-url", server.url) if by_flag else ()
        cli.configure("" if by_flag else f'[provider.mistral]\nbase_url = "{server.url}/v1"\n')
        args = ("--provider", "mistral", "--model", "m", *args)
        done = cli.run(*args, "-p", "hi", env={"MISTRAL_API_KEY": "k"})
        assert (done.code, done.out) == (0, "done\n"), done.err
        assert "stream_options" not in json.loads(server.requests[0].body)


def test_a_request_that_no_wait_makes_fit_is_asked_once(cli):
    words = "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7071"
    refused = failure(413, words, code="rate_limit_exceeded", retry_after="8")
    with LoopbackServer(default=refused) as server:
        cli.configure(GROQ.format(url=server.url))
        done = cli.run("--provider", "groq", "--model", "m", "-p", "hi", env={"GROQ_API_KEY": "k1"})
        assert (done.code, len(server.requests)) == (1, 1), done.err
    assert "the account may send less than this at once" in done.err


def test_a_model_behind_a_server_that_breaks_keeps_what_it_wrote_even_where_that_began_like_a_call(cli):
    broken = chat.broken(chat.text("```json\n", '{"name": ', "and so on"), after=4)
    with LoopbackServer(default=broken) as server:
        cli.configure(GROQ.format(url=server.url))
        done = cli.run("--provider", "groq", "--model", "qwen3", "-p", "hi", env={"GROQ_API_KEY": "k1"})
    assert (done.code, done.out) == (1, '```json\n{"name": and so on\n'), done.err


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gemini", "did you mean google?"),
        ("Kimi", "did you mean moonshot?"),
        ("dashscope", "did you mean qwen?"),
        ("z.ai", "did you mean zai?"),
        ("github-copilot", "put a gateway before it, such as litellm"),
        ("anthropic/claude-sonnet-4-6", "a model is named by --model anthropic/claude-sonnet-4-6"),
        ("nobody-knows-it", "caliban models --providers lists all there are"),
    ],
)
def test_a_provider_by_another_name_is_told_the_way_on(cli, name, hint):
    done = cli.run("--provider", name, "-p", "hi")
    assert (done.code, done.out) == (64, ""), done.err
    assert f"no provider is called {name!r}" in done.err and hint in done.err


def test_a_provider_of_ones_own_without_its_wire_is_told_how_to_say_it(cli):
    cli.configure('[provider.corp]\nbase_url = "http://127.0.0.1:9/v1"\n')
    done = cli.run("--provider", "corp", "--model", "m", "-p", "hi")
    assert done.code == 64 and 'say in [provider.corp] which wire it speaks: kind = "openai"' in done.err


@pytest.mark.parametrize("option", ["extra_bodi", "nosuch"])
def test_an_option_that_is_none_is_told_all_that_there_are(cli, option):
    cli.configure(f'[provider.groq.options]\n{option} = "x"\n')
    done = cli.run("--provider", "groq", "--model", "m", "-p", "hi", env={"GROQ_API_KEY": "k"})
    assert done.code == 78 and "api, base_model, extra_body, organization" in done.err, done.err
    assert ("did you mean extra_body?" in done.err) is (option == "extra_bodi")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--model", "groq/"), "'groq/' names a provider and no model"),
        (("--model", "a\nb"), "'a b' is no name of a model"),
        (("--model", "anthropic/m", "--fallback-model", "groq/"), "'groq/' names a provider and no model"),
    ],
)
def test_a_model_that_is_none_is_refused_before_anything_is_sent(cli, args, message):
    done = cli.run(*args, "-p", "hi")
    assert (done.code, cli.server.requests) == (78, ()) and message in done.err, done.err


@pytest.mark.parametrize(
    "args",
    [
        ("--provider", "mistral", "--model", "mistral/devstral"),
        ("--model", " mistral/devstral "),
        ("--provider", "mistral", "--model", " devstral"),
    ],
)
def test_a_model_goes_to_its_provider_by_its_bare_name(cli, args):
    with LoopbackServer([chat.exchange(chat.text("done"))]) as server:
        cli.configure(f'[provider.mistral]\nbase_url = "{server.url}"\n')
        done = cli.run(*args, "-p", "hi", env={"MISTRAL_API_KEY": "k"})
        assert (done.code, done.out) == (0, "done\n"), done.err
        assert json.loads(server.requests[0].body)["model"] == "devstral"


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ('[model_overrides]\nmain_loop = "groq/llama"\n', ("", "llama")),
        ('[model_overrides]\nmain_loop = "anthropic/claude-opus-5"\n', ("claude-opus-5", "")),
        (
            '[[router.route]]\nid = "big"\npurpose = "main_loop"\nmodel = "anthropic/claude-opus-5"\n'
            '[model_overrides]\nbig = "groq/llama"\n',
            ("", "llama"),
        ),
    ],
)
def test_an_override_may_name_another_provider(cli, settings, asked):
    with LoopbackServer(default=chat.exchange(chat.text("done"))) as groq:
        cli.script(wire.exchange(wire.text("done"), model="claude-opus-5"))
        cli.configure(GROQ.format(url=groq.url) + settings)
        done = cli.run("-p", "hi", env={"GROQ_API_KEY": "k1"})
        assert (done.code, done.out) == (0, "done\n"), done.err
        servers = (cli.server, groq)
        models = [[request.json["model"] for request in server.requests] for server in servers]
    assert models == [[name] if name else [] for name in asked]


def test_an_override_of_a_provider_that_is_none_is_refused_before_anything_is_sent(cli):
    cli.configure('[model_overrides]\nmain_loop = "groq/"\n')
    assert "'groq/' names a provider and no model" in cli.run("-p", "hi").err
    assert cli.server.requests == ()


HELPER = {"description": "d", "prompt": "p", "subagent_type": "helper"}
FILE = "---\nname: helper\ndescription: helps\nmodel: groq/llama\n---\nYou help.\n"


def _with_helper(cli, settings, call, *, key="k1"):
    """What the second request of the run reads as the result of a call that starts an agent."""
    folder = cli.home / ".config/caliban/agents"
    folder.mkdir(parents=True)
    (folder / "helper.md").write_text(FILE)
    cli.configure(settings)
    cli.script(wire.exchange(wire.tool_use("Agent", call)), wire.exchange(wire.text("done")))
    done = cli.run("-p", "hi", env={"GROQ_API_KEY": key})
    assert (done.code, done.out) == (0, "done\n"), done.err
    return json.dumps(cli.server.requests[1].json["messages"][-1])


def test_the_file_of_an_agent_may_name_a_model_of_another_provider(cli):
    usage = Usage(input_tokens=40, output_tokens=2)
    with LoopbackServer(default=chat.exchange(chat.text("groq helps"), usage=usage)) as groq:
        text = _with_helper(cli, GROQ.format(url=groq.url), HELPER)
        assert [request.json["model"] for request in groq.requests] == ["llama"]
        assert groq.requests[0].headers["authorization"] == "Bearer k1"
    assert "groq helps" in text


def test_an_agent_whose_provider_has_no_key_says_so_and_the_run_goes_on(cli):
    text = _with_helper(cli, "", HELPER, key="")
    assert "there is no API key for groq" in text


def test_where_prompts_go_to_is_not_for_the_model_at_work_to_say(cli):
    call = {"description": "d", "prompt": "p", "model": "groq/llama"}
    with LoopbackServer() as groq:
        text = _with_helper(cli, GROQ.format(url=groq.url), call)
        assert groq.requests == ()
    assert "of another provider than anthropic: only the file of an agent names one" in text


def test_a_gateway_that_does_not_stream_runs_tools_and_answers_all_the_same(cli):
    def whole(message, finish):
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        usage = {"prompt_tokens": 9, "completion_tokens": 4}
        value = {"object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
        return answer(200, json.dumps(value).encode(), content_type="application/json")

    (cli.work / "a.txt").write_text("seen\n")
    function = {"name": "Read", "arguments": json.dumps({"path": "a.txt"})}
    called = whole({"content": None, "tool_calls": [{"id": "c1", "function": function}]}, "tool_calls")
    with LoopbackServer([called, whole({"content": "read"}, "stop")]) as server:
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        flags = ("--provider", "openai", "--model", "m", "--output-format", "json")
        done = cli.run("-p", "hi", *flags, env=env)
        last = server.requests[-1].json["messages"][-1]
    assert (done.code, done.json["result"]) == (0, "read"), done.err
    assert "seen" in last["content"]
    assert done.json["usage"]["input_tokens"] == 18
