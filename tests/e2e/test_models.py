"""`caliban models`: what providers offer, with windows, prices and abilities."""

from __future__ import annotations

import json

import pytest

from caliban_provider.testing.exchange import answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire as anthropic
from caliban_provider_google.models import AS_OF
from caliban_provider_google.testing import wire as google
from caliban_provider_ollama.testing import wire as ollama
from caliban_provider_openai.testing import chat, responses


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_models_shows_windows_prices_and_abilities_and_marks_the_default(cli):
    cli.script(anthropic.models("claude-sonnet-4-6", "claude-haiku-5-5", "claude-wonder-9"))
    done = cli.run("models")
    abilities = "tools, vision, documents, thinking, prompt cache, structured output"
    assert [cells(line) for line in done.out.splitlines()] == [
        ["MODEL", "CONTEXT", "IN $/MTOK", "OUT $/MTOK", "CAPABILITIES"],
        ["claude-sonnet-4-6 (default)", "1,000,000", "3", "15", abilities],
        ["claude-haiku-5-5", "1,000,000", "0.1+", "0.5+", abilities],
        ["claude-wonder-9", "1,000,000", "?", "?", abilities],
    ]


def test_models_gives_programs_numbers_or_null(cli):
    cli.script(anthropic.models("claude-sonnet-4-6", "claude-wonder-9"))
    known, unknown = [json.loads(line) for line in cli.run("models", "--json").out.splitlines()]
    names = [f"{name}_usd_per_mtok" for name in ("input", "output", "cache_read", "cache_write")]
    assert [known[name] for name in names] == [3.0, 15.0, 0.3, 3.75]
    assert [unknown[name] for name in names] == [None] * 4
    assert (known["default"], unknown["default"]) == (True, False)


def test_models_takes_the_operators_own_rates_and_default(cli):
    rates = cli.home / "rates.yaml"
    rates.write_text(
        "version: 1\nproviders:\n  anthropic:\n    - model_glob: 'claude-*'\n"
        "      effective_from: 2020-01-01\n      input_per_mtok: 1.25\n      output_per_mtok: 7\n"
    )
    cli.configure('model = "claude-haiku-4-5"\n')
    cli.script(anthropic.models("claude-sonnet-4-6", "claude-haiku-4-5-20251001"))
    done = cli.run("models", env={"CALIBAN_RATES_YAML": str(rates)})
    assert [cells(line)[:4] for line in done.out.splitlines()[1:]] == [
        ["claude-sonnet-4-6", "1,000,000", "1.25", "7"],
        ["claude-haiku-4-5-20251001 (default)", "200,000", "1.25", "7"],
    ]
    rates.write_text("version: 9\n")
    cli.script(anthropic.models("claude-sonnet-4-6"))
    assert cli.run("models", env={"CALIBAN_RATES_YAML": str(rates)}).code == 78


def test_models_of_this_machine_cost_nothing(cli):
    with LoopbackServer(ollama.Server(models={"llama3.1:latest": ["tools"], "q": []})) as server:
        done = cli.run("models", "--provider", "ollama", env={"OLLAMA_BASE_URL": server.url})
    assert [cells(line)[:4] for line in done.out.splitlines()[1:]] == [
        ["llama3.1:latest (default)", "131,072", "0", "0"],
        ["q", "131,072", "0", "0"],
    ]


def test_models_works_with_options_and_the_flags_of_other_commands(cli):
    cli.configure('[provider.google.options]\napi_version = "v1alpha"\n')
    with LoopbackServer([google.models("gemini-3.8-flash", "gemini-2.5-pro")] * 2) as server:
        env = {"GEMINI_API_KEY": "k", "GEMINI_BASE_URL": server.url}
        done = cli.run("models", "--provider", "google", "--workspace", str(cli.work), env=env)
        cli.run("models", "--provider", "google", "--bare", env=env)
        paths = [request.path.partition("?")[0] for request in server.requests]
    assert paths == ["/v1alpha/models", "/v1beta/models"]
    assert [cells(line)[:2] for line in done.out.splitlines()[1:]] == [
        ["gemini-3.8-flash (default)", "1,000,000"],
        ["gemini-2.5-pro", "1,000,000"],
    ]
    assert cli.run("models", "--workspace", str(cli.home / "none")).code == 64


@pytest.mark.parametrize(
    ("model", "is_told"),
    [("claude-haiku-4-5", True), ("claude-opus-4-5", False), ("claude-sonnet-4-6", False)],
)
def test_an_effort_is_sent_or_told_to_do_nothing(cli, model, is_told):
    cli.script(anthropic.exchange(anthropic.text("x"), model=model))
    done = cli.run("-p", "hi", "--model", model, "--settings", '{"effort": "high"}')
    sent = cli.bodies()[0].get("output_config")
    assert (done.code, sent, "is not known to take an effort" in done.err) == (
        0,
        None if is_told else {"effort": "high"},
        is_told,
    )


@pytest.mark.parametrize(
    ("model", "effort", "sent"),
    [
        ("claude-opus-4-7", "xhigh", "xhigh"),
        ("claude-haiku-5-5", "max", "max"),
        ("claude-sonnet-4-6", "xhigh", "high"),
        ("claude-opus-4-5", "max", "high"),
    ],
)
def test_the_highest_efforts_are_sent_or_told_to_be_lowered(cli, model, effort, sent):
    cli.script(anthropic.exchange(anthropic.text("x"), model=model))
    done = cli.run("-p", "hi", "--model", model, "--settings", json.dumps({"effort": effort}))
    remark = f"{model} takes no effort {effort}; it is asked for {sent}"
    assert (done.code, cli.bodies()[0]["output_config"], remark in done.err) == (
        0,
        {"effort": sent},
        sent != effort,
    )


@pytest.mark.parametrize(("effort", "sent"), [("xhigh", "xhigh"), ("max", "xhigh")])
def test_openais_models_get_the_effort_that_their_row_knows(cli, effort, sent):
    with LoopbackServer([responses.exchange(responses.text("x"), model="gpt-5.5")]) as server:
        flags = ("--provider", "openai", "--settings", json.dumps({"effort": effort}))
        options = '[provider.openai.options]\napi = "responses"\n'
        cli.configure(options)
        done = cli.run("-p", "hi", *flags, env={"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url})
        assert server.requests[0].json["reasoning"]["effort"] == sent
    assert (done.code, "gpt-5.5 takes no effort max; it is asked for xhigh" in done.err) == (
        0,
        effort != sent,
    )


def test_models_marks_names_that_have_a_last_day(cli):
    with LoopbackServer([google.models("gemini-3.8-flash", "gemini-2.0-flash")] * 2) as server:
        env = {"GEMINI_API_KEY": "k", "GEMINI_BASE_URL": server.url}
        shown = cli.run("models", "--provider", "google", env=env)
        listed = cli.run("models", "--provider", "google", "--json", env=env)
    assert [cells(line)[0] for line in shown.out.splitlines()[1:]] == [
        "gemini-3.8-flash (default)",
        "gemini-2.0-flash (retired 2026-06-01)",
    ]
    assert [json.loads(line)["retirement"] for line in listed.out.splitlines()] == [
        None,
        {"on": "2026-06-01", "as_of": AS_OF, "successor": "gemini-3.8-flash"},
    ]


def test_a_run_with_a_retired_name_says_so_once_and_what_to_ask_instead(cli):
    exchange = google.exchange(google.text("x"), model="gemini-2.0-flash")
    with LoopbackServer([exchange]) as server:
        env = {"GEMINI_API_KEY": "k", "GEMINI_BASE_URL": server.url}
        done = cli.run("-p", "hi", "--provider", "google", "--model", "gemini-2.0-flash", env=env)
    remark = f"retired 2026-06-01 by its vendor (as of {AS_OF}); ask for gemini-3.8-flash instead"
    assert (done.code, done.err.count(remark)) == (0, 1)


def test_a_fallback_with_a_last_day_is_told_of_as_well(cli):
    cli.script(anthropic.exchange(anthropic.text("x")))
    done = cli.run("-p", "hi", "--fallback-model", "claude-opus-4-20250514")
    assert (done.code, done.err.count("claude-opus-4-20250514: retired 2026-06-15")) == (0, 1)


FRAMES = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")
LONG = "words and more words " * 160
LISTS = {
    "vLLM": b'{"data": [{"id": "house-7b", "max_model_len": 4096}]}',
    "llama.cpp": b'{"data": [{"id": "house-7b", "meta": {"n_ctx": 4096, "n_ctx_train": 131072}}]}',
    "a gateway": b'{"data": [{"id": "x"}, {"id": "house-7b", "context_length": 4096}]}',
}


def conversation(cli, listed):
    """Six long prompts to a model that no table knows, on a server with this list: the run, and its paths."""

    def serve(request):
        if request.method == "GET":
            return listed
        return chat.exchange(chat.text("noted"))

    with LoopbackServer(serve) as server:
        cli.configure(f'[provider.house]\nkind = "openai"\nbase_url = "{server.url}/v1"\n')
        lines = [json.dumps({"type": "user", "content": f"{n}. {LONG}"}).encode() for n in range(6)]
        flags = ("--provider", "house", "--model", "house-7b", "--no-tools")
        done = cli.run(*FRAMES, *flags, stdin=b"\n".join(lines), env={"HOUSE_API_KEY": "k"})
        return done, [request.path for request in server.requests if request.method == "GET"]


@pytest.mark.parametrize("server", LISTS)
def test_a_window_that_a_server_tells_is_planned_with(cli, server):
    done, asked = conversation(cli, answer(200, LISTS[server], content_type="application/json"))
    assert done.code == 0, done.err
    assert asked == ["/v1/models"]
    assert [f["compact_metadata"]["trigger"] for f in done.of("system") if f["subtype"] == "compact_boundary"]


@pytest.mark.parametrize(
    "listed",
    [
        answer(404, b"no such page"),
        answer(200, b"<html>", content_type="text/html"),
        answer(200, b'{"data": [{"id": 7}, null, {"id": "house-7b", "max_model_len": "many"}]}'),
        answer(500, b"{}"),
    ],
    ids=["none", "a page", "nonsense", "a fault"],
)
def test_a_server_that_tells_no_window_is_asked_once_and_talked_to_all_the_same(cli, listed):
    done, asked = conversation(cli, listed)
    assert done.code == 0, done.err
    assert [(f["subtype"], f["num_turns"]) for f in done.of("result")] == [("success", 6)]
    assert set(asked) == {"/v1/models"}
    assert not [f for f in done.of("system") if f["subtype"] == "compact_boundary"]


def test_one_question_asks_for_no_list(cli):
    with LoopbackServer([chat.exchange(chat.text("hello"))]) as server:
        cli.configure(f'[provider.house]\nkind = "openai"\nbase_url = "{server.url}/v1"\n')
        done = cli.run("--provider", "house", "--model", "house-7b", "-p", "hi", env={"HOUSE_API_KEY": "k"})
        assert (done.code, [request.method for request in server.requests]) == (0, ["POST"]), done.err
