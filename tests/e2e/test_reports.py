"""Real reports of users of such tools, by their numbers: which one is shown where, and those about money.

A report is met by the real command wherever it can be; the table below is checked against the files.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from caliban_common.usage import Usage
from caliban_provider.testing.exchange import sse
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_openai.testing import chat
from caliban_sessions import SessionStore

E2E = Path(__file__).parent
JSON = ("--output-format", "json")

SHOWN: dict[str, tuple[str, ...]] = {
    "b018": ("test_reports_tools.py::test_b018",),
    "b020": ("test_reports_tools.py::test_b020",),
    "b023": ("test_reports_tools.py::test_b023",),
    "b024": ("test_reports_tools.py::test_b024",),
    "b025": ("test_reports_tools.py::test_b025",),
    "b028": ("test_reports_tools.py::test_b028",),
    "b029": ("test_reports_tools.py::test_b029",),
    "b030": ("test_reports_tools.py::test_b030_b031",),
    "b031": ("test_reports_tools.py::test_b030_b031",),
    "b033": ("test_reports_tools.py::test_b033",),
    "b034": ("test_reports_tools.py::test_b034_b037",),
    "b036": ("test_reports_tools.py::test_b036",),
    "b037": ("test_reports_tools.py::test_b034_b037",),
    "b039": ("test_reports_tools.py::test_b039",),
    "b040": (
        "test_reports_tools.py::test_b040",
        "test_tool_loop.py::test_b040",
    ),
    "b042": ("test_reports_tools.py::test_b042",),
    "b043": ("test_reports_tools.py::test_b043",),
    "b044": ("test_reports_tools.py::test_b043_b044",),
    "b047": ("test_reports_tools.py::test_b047",),
    "b048": (
        "test_reports_tools.py::test_b048",
        "test_reports_tools.py::test_b043_b044_b048",
    ),
    "b049": ("test_reports_tools.py::test_b049",),
    "b051": (
        "test_reports_commands.py::test_b051",
        "test_reports_commands.py::test_no_process_of_a_call_outlives_its_time_limit",
        "test_tool_loop.py::test_b051",
    ),
    "b052": ("test_reports_commands.py::test_b052",),
    "b053": (
        "test_reports_commands.py::test_b053",
        "test_tool_loop.py::test_b053",
    ),
    "b055": ("test_reports_commands.py::test_b052_b055",),
    "b057": ("test_reports_commands.py::test_b057",),
    "b059": ("test_reports_commands.py::test_b059",),
    "b060": ("test_reports_commands.py::test_b059_b060",),
    "b061": ("test_reports_streams.py::test_b061",),
    "b062": (
        "test_reports_streams.py::test_b062",
        "test_headless_rows.py::test_an_error_inside_a_stream_is_retried_and_the_text_comes_once",
    ),
    "b063": (
        "test_reports_streams.py::test_b063",
        "test_headless_rows.py::test_the_frame_reader_sees_the_retry",
    ),
    "b064": ("test_reports_streams.py::test_b064", "test_bad_input.py::test_b064"),
    "b067": ("test_reports_streams.py::test_b067",),
    "b068": ("test_reports_streams.py::test_b067_b068", "test_reports_streams.py::test_b068"),
    "b069": ("test_reports_streams.py::test_b069",),
    "b071": (
        "test_reports_vendors.py::test_b071",
        "test_prefix.py::test_each_request_begins_with_the_bytes_of_the_one_before",
        "test_router.py::test_reasoning_that_a_fallback_signed_comes_back_to_it_after_a_resume",
    ),
    "b073": ("test_reports_vendors.py::test_b073",),
    "b074": ("test_reports_vendors.py::test_b074",),
    "b078": (
        "test_reports_vendors.py::test_b078",
        "test_router.py::test_a_busy_provider_hands_over_to_the_next_and_a_frame_says_so",
        "test_router.py::test_a_refused_key_is_the_end_and_no_other_model_is_asked",
        # A line that merely breaks after content is final: docs/adr/0010.
        "test_bad_input.py::test_a_stream_cut_after_content_is_an_error_and_keeps_the_words",
    ),
    "b081": (
        "test_reports_sessions.py::test_b081",
        "test_headless_rows.py::test_h27_an_interrupt_frame_cancels_the_running_tool",
        "test_tool_loop.py::test_b053_a_signal_leaves_no_child",
    ),
    "b082": ("test_reports_sessions.py::test_b082",),
    "b083": ("test_reports_sessions.py::test_b083",),
    "b084": ("test_reports_sessions.py::test_b084",),
    "b086": ("test_reports_sessions.py::test_b086", "test_tool_loop.py::test_b086"),
    "b087": ("test_reports_sessions.py::test_b087", "test_tool_loop.py::test_b087"),
    "b099": ("test_reports_servers.py::test_b099",),
    "b110": (
        "test_reports_state.py::test_b110",
        "test_hooks.py::test_b110_an_objection_stops_its_call_and_no_other",
    ),
    "b113": ("test_reports_state.py::test_b113",),
    "b115": ("test_reports_state.py::test_b115",),
    "b116": ("test_reports_state.py::test_b116",),
    "b117": ("test_reports_state.py::test_b117",),
    "b118": ("test_reports_state.py::test_b118",),
    "b122": ("test_reports_state.py::test_b122",),
    "b123": ("test_reports_state.py::test_b123",),
    "b124": ("test_reports_state.py::test_b124",),
    "b125": ("test_reports_state.py::test_b125",),
    "b126": ("test_reports_state.py::test_b126",),
    "b129": ("test_reports_state.py::test_b129",),
    "b131": ("test_reports_state.py::test_b131",),
    "b132": ("test_reports_state.py::test_b132",),
    "b133": (
        "test_reports_state.py::test_b133",
        "test_sessions.py::test_b133",
    ),
    "b134": ("test_reports_state.py::test_b134",),
    "b135": ("test_reports_state.py::test_b135",),
    "b139": ("test_reports_agents.py::test_b139",),
    "b140": ("test_reports_agents.py::test_b139_b140",),
    "b141": ("test_reports_agents.py::test_b141",),
    "b142": (
        "test_reports_agents.py::test_b142",
        "test_compaction.py::test_what_cannot_be_done_is_an_error_of_its_own",
    ),
    "b155": (
        "test_reports_agents.py::test_b155",
        "test_reports_agents.py::test_b155_a_kind",
    ),
    "b160": ("test_reports_agents.py::test_b160",),
    "b161": ("test_reports_agents.py::test_b161",),
    "b162": ("test_reports_agents.py::test_b162",),
    "b167": ("test_reports_agents.py::test_b167",),
    "b170": ("test_reports.py::test_b170",),
    "b174": (
        "test_reports.py::test_b174",
        "test_costs.py::test_what_a_model_without_a_price_cost_is_unknown_and_not_zero",
        "test_costs.py::test_a_server_that_tells_nonsense_of_its_usage_is_estimated_and_kept_to_the_budget",
    ),
}
"""Where each report is shown: a file of this folder, and what the names of its tests begin with."""

ELSEWHERE: dict[str, str] = {
    # No tool of the command has such a schema yet, for they come from servers of tools.
    "b075": "packages/caliban-provider-google/tests/test_google_cases.py::test_b075",
    # Of two sub-agents at the same time; the ledger has what it takes.
    "b173": "packages/caliban-telemetry/tests/test_telemetry_reports.py::test_b173",
    "b175": "packages/caliban-telemetry/tests/test_telemetry_reports.py::test_b175",
}
"""Reports that the command cannot meet yet, and the test of a package that does."""


@cache
def names(file: Path) -> tuple[str, ...]:
    """The names of the tests in a file."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    functions = (node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return tuple(node.name for node in functions if node.name.startswith("test_"))


@pytest.mark.parametrize("report", SHOWN)
def test_every_report_of_the_table_has_its_tests(report):
    for place in SHOWN[report]:
        file, _, start = place.partition("::")
        assert [name for name in names(E2E / file) if name.startswith(start)], place


def test_every_test_that_is_named_after_a_report_is_in_the_table():
    named = {name for file in E2E.glob("test_reports*.py") for name in names(file)}
    numbers = {number for name in named for number in re.findall(r"_(b\d{3})(?=_)", name)}
    assert numbers == set(SHOWN)


@pytest.mark.parametrize("report", ELSEWHERE)
def test_what_the_command_cannot_meet_yet_is_shown_by_a_package(report):
    file, _, start = ELSEWHERE[report].partition("::")
    assert [name for name in names(E2E.parents[1] / file) if name.startswith(start)]


@pytest.mark.parametrize("told", [1, 2])
def test_b170_usage_that_is_told_again_and_again_counts_once(cli, told):
    prompt = {"input_tokens": 27, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 10}
    used = Usage(input_tokens=137, output_tokens=47, cache_read_tokens=100, cache_write_tokens=10)
    start, *middle, _, stop = wire.reply(wire.text("ok"), usage=used)
    ends = [
        wire.event(
            "message_delta",
            delta={"stop_reason": "end_turn" if count == 47 else None, "stop_sequence": None},
            usage={**prompt, "output_tokens": count},
        )
        for count in (20, 47)[-told:]
    ]
    cli.script(sse(start, *middle, *ends, stop))
    done = cli.run("-p", "hi", "--session", "s", *JSON)
    by_hand = (27 * 3 + 100 * 0.3 + 10 * 3.75 + 47 * 15) / 1_000_000
    assert done.json["total_cost_usd"] == pytest.approx(by_hand, rel=1e-6)
    state = SessionStore(cli.home / ".local/share/caliban/sessions").load("s")
    assert state.total_usage == used
    usage = done.json["usage"]
    assert (usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]) == (100, 10)
    assert usage["output_tokens"] == 47


LOCAL = ("--provider", "openai", "--model", "local/foo", "--max-budget-usd", "0.01")


def paid(cli, *flags: str, env=None):
    """A run with a model of somebody's own that calls a tool for ever, at a million tokens each time."""
    (cli.work / "f").write_text("x")
    call = chat.exchange(chat.call("Read", {"path": "f"}), usage=Usage(input_tokens=10**6, output_tokens=10))
    with LoopbackServer([call] * 9) as server:
        at = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k", **(env or {})}
        done = cli.run("-p", "hi", *LOCAL, *flags, "--output-format", "stream-json", env=at)
        return done, len(server.requests)


def test_b174_a_budget_that_cannot_be_kept_is_said_and_the_bound_on_turns_holds(cli):
    done, asked = paid(cli, "--max-turns", "3")
    assert (done.code, asked, done.frames[-1]["subtype"]) == (75, 3, "max_turns")
    (warning,) = done.of("warning")
    assert 'no price is known for the model "local/foo"' in warning["message"]
    assert "the budget of $0.0100 cannot be kept for it" in warning["message"]
    assert done.frames[-1]["model_usage"]["local/foo"]["cost_usd"] is None


def test_b174_a_price_of_the_operators_makes_the_budget_hold(cli):
    rates = cli.home / "rates.yaml"
    rates.write_text(
        "version: 1\nproviders:\n  openai:\n    - model_glob: 'local/*'\n      effective_from: 2020-01-01\n"
        "      input_per_mtok: 1\n      output_per_mtok: 10\n"
    )
    done, asked = paid(cli, env={"CALIBAN_RATES_YAML": str(rates)})
    assert (done.code, asked, done.frames[-1]["subtype"]) == (137, 1, "budget_exceeded")
    assert done.of("warning") == []


@pytest.mark.parametrize("model", ["claude-sonnet-4-6-20260217", "anthropic/claude-sonnet-4-6"])
def test_b174_a_date_or_a_prefix_in_a_models_name_does_not_hide_its_price(cli, model):
    cli.script(wire.exchange(wire.text("ok"), usage=Usage(input_tokens=1_000_000), model=model))
    done = cli.run("-p", "hi", "--model", model, *JSON)
    assert (done.code, done.json["total_cost_usd"]) == (0, pytest.approx(3, rel=1e-3)), done.err
    assert cli.bodies()[0]["model"] == model.removeprefix("anthropic/")
