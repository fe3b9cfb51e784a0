"""What a run costs, and how much it may, through the real command."""

from __future__ import annotations

import json

import pytest

from caliban.compose.costs import price_book
from caliban_common.usage import Usage
from caliban_provider.testing.exchange import sse
from caliban_provider_anthropic.testing import wire

JSON = ("--output-format", "json")
MILLION = Usage(input_tokens=1_000_000, output_tokens=100_000)


def test_a_run_says_what_it_cost(cli):
    cli.script(wire.exchange(wire.text("x"), usage=MILLION))
    done = cli.run("-p", "hi", *JSON)
    assert done.json["total_cost_usd"] == pytest.approx(3 + 1.5)
    (entry,) = done.json["model_usage"].values()
    assert entry["cost_usd"] == pytest.approx(4.5)


def test_cache_reads_and_writes_have_their_own_prices(cli):
    prompt = {"input_tokens": 3_000_000, "cache_read_tokens": 1_000_000, "cache_write_tokens": 1_000_000}
    cli.script(wire.exchange(wire.text("x"), usage=Usage(**prompt, output_tokens=100_000)))
    assert cli.run("-p", "hi", *JSON).json["total_cost_usd"] == pytest.approx(3 + 0.3 + 3.75 + 1.5)


def test_a_budget_that_is_spent_ends_the_run_with_137(cli):
    (cli.work / "f").write_text("x")
    cli.script(*(wire.exchange(wire.tool_use("Read", {"path": "f"}), usage=MILLION) for _ in range(5)))
    done = cli.run("-p", "hi", "--max-budget-usd", "5", *JSON)
    assert (done.code, done.json["subtype"]) == (137, "budget_exceeded")
    assert len(cli.server.requests) == 2
    assert done.json["total_cost_usd"] == pytest.approx(9)


def test_a_budget_that_is_not_spent_changes_nothing(cli):
    cli.script(wire.exchange(wire.text("x")))
    done = cli.run("-p", "hi", "--max-budget-usd", "5", "--quiet")
    assert (done.code, done.out, done.err) == (0, "x\n", "")


def test_a_model_without_a_price_counts_nothing_and_is_told_once(cli):
    (cli.work / "f").write_text("x")
    cli.script(
        wire.exchange(wire.tool_use("Read", {"path": "f"}), model="m"),
        wire.exchange(wire.text("x"), model="m"),
    )
    done = cli.run("-p", "hi", "--model", "m", "--output-format", "stream-json")
    warnings = [frame for frame in done.of("warning") if "price" in frame["message"]]
    assert len(warnings) == 1
    assert done.frames[-1]["total_cost_usd"] == 0
    assert done.code == 0


def test_a_model_that_is_called_almost_like_a_known_one_is_asked_and_the_known_one_named(cli):
    cli.script(
        wire.exchange(wire.text("x"), model="claude-sonet-4-6"),
        wire.failure(404, "not_found_error", "model: claude-sonet-4-6"),
        wire.exchange(wire.text("x"), model="claude-sonnet-9-9"),
    )
    done = [
        cli.run("-p", "hi", "--model", name)
        for name in ("claude-sonet-4-6", "claude-sonet-4-6", "claude-sonnet-9-9")
    ]
    assert [each.code for each in done] == [0, 1, 0]
    assert all("did you mean claude-sonnet-4-6?" in each.err for each in done[:2]), done
    assert "did you mean" not in done[2].err  # a version that is newer than the table is no mistake
    assert [body["model"] for body in cli.bodies()] == [
        "claude-sonet-4-6",
        "claude-sonet-4-6",
        "claude-sonnet-9-9",
    ]


def test_the_operators_own_rates_come_first(cli):
    rates = cli.home / "rates.yaml"
    rates.write_text(
        "version: 1\nproviders:\n  anthropic:\n    - model_glob: 'claude-*'\n"
        "      effective_from: 2020-01-01\n"
        "      input_per_mtok: 1\n      output_per_mtok: 10\n"
    )
    cli.script(wire.exchange(wire.text("x"), usage=MILLION))
    done = cli.run("-p", "hi", *JSON, env={"CALIBAN_RATES_YAML": str(rates)})
    assert done.json["total_cost_usd"] == pytest.approx(2)


@pytest.mark.parametrize("content", ["version: 7", "[", "providers: 3", "\0"])
def test_rates_that_cannot_be_read_are_code_78_with_their_file(cli, content):
    rates = cli.home / "rates.yaml"
    rates.write_text(content)
    done = cli.run("-p", "hi", env={"CALIBAN_RATES_YAML": str(rates)})
    assert done.code == 78
    assert "rates.yaml" in done.err
    assert cli.server.requests == ()


def test_a_setting_refuses_models_without_a_price_under_a_budget(cli):
    cli.script(wire.exchange(wire.text("x")))
    flags = ("--model", "m", "--settings", '{"budget": {"unpriced": "refuse"}}')
    done = cli.run("-p", "hi", "--max-budget-usd", "5", *flags)
    assert (done.code, done.out) == (137, "")
    assert 'no price is known for the model "m" of anthropic' in done.err
    assert cli.server.requests == ()
    assert cli.run("-p", "hi", *flags).code == 0


@pytest.mark.parametrize("text", ['{"unpriced": "maybe"}', '{"soft_ratio": 2}', '{"soft_ratio": "x"}', "3"])
def test_a_budget_setting_that_means_nothing_is_code_78(cli, text):
    done = cli.run("-p", "hi", "--settings", f'{{"budget": {text}}}')
    assert done.code == 78
    assert "budget" in done.err


def test_a_repository_cannot_loosen_the_budget(cli):
    (cli.work / ".caliban").mkdir()
    (cli.work / ".caliban" / "settings.toml").write_text('[budget]\nunpriced = "count_zero"\n')
    cli.configure('[budget]\nunpriced = "refuse"\n')
    done = cli.run("-p", "hi", "--model", "m", "--max-budget-usd", "5", "--trust-project")
    assert done.code == 137


@pytest.mark.parametrize("count", [0, -5, 10**30, 10**400, "27", 1.5, None])
def test_a_server_that_tells_nonsense_of_its_usage_is_estimated_and_kept_to_the_budget(free_cli, count):
    cli = free_cli
    (cli.work / "f").write_text("x")
    call = wire.reply(wire.tool_use("Read", {"path": "f"}), usage=Usage())
    member = f'"input_tokens":{json.dumps(count)}'.encode()
    pieces = [piece.replace(b'"input_tokens":0', member) for piece in call]
    assert pieces != call or count == 0
    cli.script(*(sse(*pieces) for _ in range(5)))
    done = cli.run("-p", "hi", "--max-budget-usd", "0.009", *JSON)
    assert (done.code, done.json["subtype"]) == (137, "budget_exceeded"), done.err
    assert len(cli.server.requests) == 2
    assert done.json["usage"]["estimated"] is True
    assert done.json["total_cost_usd"] > 0.009
    (entry,) = done.json["model_usage"].values()
    assert entry["estimated"] is True


@pytest.mark.parametrize("listed", ["gateway", "anthropic"])
def test_rates_are_found_under_the_operators_name_of_a_provider_and_under_its_kind(cli, listed):
    rates = cli.home / "rates.yaml"
    rates.write_text(
        f"version: 1\nproviders:\n  {listed}:\n    - model_glob: m\n      effective_from: 2020-01-01\n"
        "      input_per_mtok: 1\n      output_per_mtok: 10\n"
    )
    table = {"kind": "anthropic", "base_url": cli.server.url, "api_key_env": "ANTHROPIC_API_KEY"}
    settings = json.dumps({"provider": {"gateway": table}})
    flags = ("-p", "hi", "--provider", "gateway", "--model", "m", "--settings", settings, *JSON)
    cli.script(*(wire.exchange(wire.text("x"), usage=MILLION, model="m") for _ in range(2)))
    for more in ((), ("--fallback-model", "n")):
        done = cli.run(*flags, *more, env={"CALIBAN_RATES_YAML": str(rates)})
        assert (done.json["total_cost_usd"], done.err) == (pytest.approx(2), "")


def test_whose_prices_a_provider_charges_is_told_by_its_address():
    places = {
        "mine": ("openai", "https://api.deepseek.com/v1"),
        "here": ("openai", "http://127.0.0.1:1/v1"),
        "plain": ("anthropic", None),
        "cloud": ("vertex", "https://us-aiplatform.googleapis.com"),
    }
    vendors = {"mine": "deepseek", "here": "openai", "plain": "anthropic", "cloud": "vertex"}
    assert price_book(None, places).vendors == vendors


def test_what_a_model_without_a_price_cost_is_unknown_and_not_zero(cli):
    cli.script(wire.exchange(wire.text("x"), model="m"))
    done = cli.run("-p", "hi", "--model", "m", *JSON)
    assert done.json["model_usage"]["m"]["cost_usd"] is None
    assert done.json["total_cost_usd"] == 0


def test_what_is_estimated_of_a_reply_is_the_same_wherever_it_is_told(cli):
    (cli.work / "f").write_text("x")
    usage = Usage(input_tokens=1000)
    pieces = (wire.thinking("größer, hm", signature="S"), wire.text("Let me see."))
    cli.script(wire.exchange(*pieces, wire.tool_use("Read", {"path": "f"}), usage=usage))
    cli.script(wire.exchange(wire.text("ok"), usage=usage))
    report = cli.run("-p", "hi", *JSON).json
    (entry,) = report["model_usage"].values()
    assert report["usage"]["output_tokens"] == entry["output_tokens"] > 0
    assert report["usage"]["estimated"] is entry["estimated"] is True


@pytest.mark.parametrize(("long_writes", "usd"), [(0, 3.75), (400_000, 4.65), (1_000_000, 6.0)])
def test_cache_writes_that_last_an_hour_have_their_own_price(cli, long_writes, usd):
    usage = {
        "input_tokens": 0,
        "cache_creation_input_tokens": 1_000_000,
        "cache_creation": {
            "ephemeral_5m_input_tokens": 1_000_000 - long_writes,
            "ephemeral_1h_input_tokens": long_writes,
        },
    }
    start, *others = wire.reply(wire.text("x"), usage=Usage(output_tokens=0))
    event = json.loads(start.partition(b"data: ")[2])
    event["message"]["usage"] |= usage
    cli.script(sse(wire.event("message_start", message=event["message"]), *others))
    assert cli.run("-p", "hi", *JSON).json["total_cost_usd"] == pytest.approx(usd, abs=0.001)
