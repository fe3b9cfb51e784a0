"""Every built-in door through the real command, against strict servers on loopback."""

from __future__ import annotations

import json

import pytest

from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire as anthropic
from caliban_provider_google.testing import wire as google
from caliban_provider_ollama.testing import wire as ollama
from caliban_provider_openai.testing import chat as openai


def test_an_endpoint_by_settings_alone_speaks_the_openai_wire(cli):
    with LoopbackServer([openai.exchange(openai.text("from mine"))]) as server:
        cli.configure(
            f'[provider.mine]\nkind = "openai"\nbase_url = "{server.url}/v1"\napi_key_env = "MY_KEY"\n'
        )
        done = cli.run("--provider", "mine", "--model", "some", "-p", "hi", env={"MY_KEY": "k1"})
        assert (done.code, done.out) == (0, "from mine\n"), done.err
        assert server.requests[0].headers["authorization"] == "Bearer k1"


def test_an_endpoint_by_settings_alone_speaks_the_anthropic_wire(cli):
    with LoopbackServer([anthropic.exchange(anthropic.text("from mine"))]) as server:
        cli.configure(
            f'[provider.mine]\nkind = "anthropic"\nbase_url = "{server.url}"\napi_key_env = "MY_KEY"\n'
            '[provider.mine.headers]\nx-team = "blue"\n'
        )
        done = cli.run("--provider", "mine", "--model", "some", "-p", "hi", env={"MY_KEY": "k1"})
        assert (done.code, done.out) == (0, "from mine\n"), done.err
        assert server.requests[0].headers["x-team"] == "blue"


def test_a_project_cannot_name_an_endpoint(cli):
    (cli.work / ".caliban").mkdir()
    (cli.work / ".caliban" / "settings.toml").write_text(
        '[provider.anthropic]\nbase_url = "http://127.0.0.1:9"\n'
    )
    cli.script(anthropic.exchange(anthropic.text("home")))
    assert cli.run("-p", "hi", "--trust-project").out == "home\n"


def test_gemini_answers(cli):
    with LoopbackServer([google.exchange(google.text("from gemini"))]) as server:
        env = {"GEMINI_API_KEY": "k", "GEMINI_BASE_URL": server.url}
        done = cli.run("--provider", "google", "-p", "hi", env=env)
    assert (done.code, done.out) == (0, "from gemini\n"), done.err


def test_ollama_answers(cli):
    script = ollama.Server([ollama.exchange(ollama.text("from ollama"))])
    with LoopbackServer(script) as server:
        done = cli.run("--provider", "ollama", "-p", "hi", env={"OLLAMA_BASE_URL": server.url})
    assert (done.code, done.out) == (0, "from ollama\n"), done.err


@pytest.mark.parametrize("name", ["openai", "azure", "google", "bedrock", "vertex"])
def test_a_door_without_credentials_says_what_is_missing(cli, name):
    done = cli.run(
        "--provider", name, "-p", "hi", "--output-format", "json", env={"AWS_EC2_METADATA_DISABLED": "true"}
    )
    assert done.code != 0
    assert done.json["is_error"] is True
    assert "Traceback" not in done.err


def test_models_lists_what_a_provider_offers(cli):
    cli.script(anthropic.models("claude-sonnet-4-6", "claude-haiku-4-5"))
    cli.script(anthropic.models("claude-sonnet-4-6"))
    done = cli.run("models")
    ids = [line.split()[0] for line in done.out.splitlines()]
    assert ids == ["MODEL", "claude-sonnet-4-6", "claude-haiku-4-5"]
    assert "1,000,000" in done.out
    data = json.loads(cli.run("models", "--json").out.splitlines()[0])
    assert (data["id"], data["tools"]) == ("claude-sonnet-4-6", True)


def test_models_of_a_server_that_is_not_there_is_an_error(cli):
    done = cli.run("models", env={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"})
    assert done.code == 1
    assert "127.0.0.1" in done.err


def test_a_session_with_an_endpoint_of_settings_goes_on_there(cli):
    with LoopbackServer([openai.exchange(openai.text(word)) for word in ("one", "two")]) as server:
        cli.configure(
            f'[provider.mine]\nkind = "openai"\nbase_url = "{server.url}/v1"\napi_key_env = "MY_KEY"\n'
        )
        first = ("--provider", "mine", "--model", "some", "--session", "s", "--output-format", "stream-json")
        done = cli.run("-p", "hi", *first, env={"MY_KEY": "k1"})
        assert done.frames[0]["model"] == "mine/some"
        done = cli.run("-p", "and?", "-r", "s", env={"MY_KEY": "k1"})
        assert (done.code, done.out) == (0, "two\n"), done.err


def test_a_flag_says_where_the_provider_is_for_one_run(cli):
    with LoopbackServer([openai.exchange(openai.text("there"))]) as server:
        env = {"OPENAI_API_KEY": "k1", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        done = cli.run(
            *("--provider", "openai", "--base-url", f"{server.url}/v1", "--model", "some", "-p", "hi"),
            env=env,
        )
        assert (done.code, done.out) == (0, "there\n"), done.err
        assert server.requests[0].headers["authorization"] == "Bearer k1"


def test_a_server_on_this_machine_that_a_flag_names_needs_no_key(cli):
    with LoopbackServer([openai.exchange(openai.text("there"))]) as server:
        flags = ("--provider", "openai", "--base-url", f"{server.url}/v1", "--model", "some")
        done = cli.run(*flags, "-p", "hi")
        assert (done.code, done.out) == (0, "there\n"), done.err
        assert "authorization" not in server.requests[0].headers


def test_a_server_elsewhere_needs_its_key(cli):
    done = cli.run("--base-url", "https://models.invalid", "-p", "hi", env={"ANTHROPIC_API_KEY": ""})
    assert done.code == 78
    assert "ANTHROPIC_API_KEY" in done.err


def test_the_flag_moves_the_first_route_and_no_other(cli):
    with LoopbackServer([anthropic.exchange(anthropic.text("moved"))]) as server:
        flags = ("--base-url", server.url, "--fallback-model", "claude-haiku-4-5")
        assert cli.run("-p", "hi", *flags).out == "moved\n"


@pytest.mark.parametrize("url", ["127.0.0.1:9", "ftp://127.0.0.1/v1", "http://", "http://[", "x" * 5000])
def test_an_address_that_is_none_is_code_78(cli, url):
    done = cli.run("--provider", "openai", "--base-url", url, "-p", "hi", env={"OPENAI_API_KEY": "k"})
    assert done.code == 78
    assert "URL" in done.err
    assert "Traceback" not in done.err


SCHEMA = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'


def test_a_provider_holds_the_answer_to_its_schema_where_it_can(cli):
    cli.script(anthropic.exchange(anthropic.text('{"a": 1}')))
    done = cli.run("-p", "hi", "--json-schema", SCHEMA, "--output-format", "json")
    assert done.json["structured_output"] == {"a": 1}
    form = cli.bodies()[0]["output_config"]["format"]
    assert form["type"] == "json_schema"
    assert form["schema"]["required"] == ["a"]


def test_a_schema_that_a_provider_refuses_is_checked_here(cli):
    cli.script(
        anthropic.failure(400, "invalid_request_error", "output_config.format: schema is too complex"),
        anthropic.exchange(anthropic.text('{"a": 1}')),
    )
    done = cli.run("-p", "hi", "--json-schema", SCHEMA, "--output-format", "stream-json")
    assert done.frames[-1]["structured_output"] == {"a": 1}
    assert [frame["subtype"] for frame in done.of("warning")] == ["schema_not_enforced"]
    assert ["output_config" in body for body in cli.bodies()] == [True, False]


def test_a_request_that_is_refused_for_another_reason_is_an_error(cli):
    refusal = anthropic.failure(400, "invalid_request_error", "max_tokens: too large")
    cli.script(refusal, refusal)
    done = cli.run("-p", "hi", "--json-schema", SCHEMA, "--output-format", "json")
    assert (done.code, done.json["subtype"]) == (1, "error")
    assert "max_tokens: too large" in done.json["error"]


def test_a_session_whose_provider_is_gone_says_so_and_goes_on_with_another(cli):
    with LoopbackServer([openai.exchange(openai.text("one"))]) as server:
        cli.configure(f'[provider.mine]\nkind = "openai"\nbase_url = "{server.url}/v1"\n')
        flags = ("--provider", "mine", "--model", "some", "--session", "s")
        assert cli.run("-p", "hi", *flags).code == 0
    cli.configure("")
    done = cli.run("-p", "and?", "-r", "s")
    assert done.code == 64
    assert "the session 's' was with the provider 'mine'" in done.err
    assert "--provider NAME" in done.err
    cli.script(anthropic.exchange(anthropic.text("two")))
    assert cli.run("-p", "and?", "-r", "s", "--provider", "anthropic").out == "two\n"


def test_a_provider_that_refuses_schemas_is_asked_with_one_once_in_a_conversation(cli):
    refusal = anthropic.failure(400, "invalid_request_error", "output_config: not supported")
    cli.script(
        refusal, *(anthropic.exchange(anthropic.text(text)) for text in ("no", '{"a": 1}', '{"a": 2}'))
    )
    frames = b"".join(b'{"type":"user","content":"go"}\n' for _ in range(2))
    flags = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")
    done = cli.run(*flags, "--json-schema", SCHEMA, stdin=frames)
    assert ["output_config" in body for body in cli.bodies()] == [True, False, False, False]
    assert [frame["subtype"] for frame in done.of("warning")] == ["schema_not_enforced"]
    assert done.frames[-1]["structured_output"] == {"a": 2}
