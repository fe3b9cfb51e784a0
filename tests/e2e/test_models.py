"""`caliban models`: what providers offer, with windows, prices and abilities."""

from __future__ import annotations

import json

import pytest

from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire as anthropic
from caliban_provider_google.testing import wire as google
from caliban_provider_ollama.testing import wire as ollama


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
