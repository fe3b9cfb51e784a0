"""Several models behind one run: who answers, when another one does, and what is said of it."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from caliban_common.usage import Usage
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_ollama.testing import wire as ollama
from caliban_provider_openai.testing import chat
from caliban_provider_openai.testing.strict_chat import DEEPSEEK, StrictChat

FRAMES = ("-p", "hi", "--output-format", "stream-json")
BUSY = wire.failure(529, "overloaded_error", "busy")
ROUTES = """
[[router.route]]
id = "first"
purpose = "main_loop"
provider = "anthropic"
model = "claude-opus-4-7"

[[router.route]]
id = "second"
purpose = "main_loop"
provider = "openai"
model = "gpt-loopback"
effort_map = { low = "budget=1024" }

[[router.route]]
purpose = "fast_classifier"
provider = "google"
model = "gemini-2.5-flash"
"""


@dataclass
class Two:
    """The command, the server of its first provider in `cli`, and that of its second."""

    cli: object
    second: LoopbackServer
    file: Path

    def run(self, *flags: str, **options):
        return self.cli.run(*flags, **options)

    def models(self) -> tuple[list[str], list[str]]:
        """The models that each server was asked for."""
        asked = (self.cli.server.requests, self.second.requests)
        first, second = ([request.json["model"] for request in requests] for requests in asked)
        return first, second


@pytest.fixture
def two(cli, tmp_path: Path) -> Iterator[Two]:
    file = tmp_path / "routes.toml"
    with LoopbackServer([]) as second:
        file.write_text(f'{ROUTES}\n[provider.openai]\nbase_url = "{second.url}/v1"\n')
        yield Two(cli=cli, second=second, file=file)


def switches(done) -> list[tuple[str, str, str]]:
    """The switches that frames tell of."""
    frames = [frame for frame in done.of("warning") if frame["subtype"] == "model_switch"]
    return [tuple(frame["details"][name] for name in ("from", "to", "category")) for frame in frames]


def test_a_busy_provider_hands_over_to_the_next_and_a_frame_says_so(two):
    two.cli.script(BUSY)
    two.second.extend(chat.exchange(chat.text("from the second"), model="gpt-loopback"))
    done = two.run(*FRAMES, "--config", str(two.file))
    assert (done.code, done.frames[-1]["result"]) == (0, "from the second")
    assert switches(done) == [("anthropic/claude-opus-4-7", "openai/gpt-loopback", "overloaded")]
    assert done.frames[0]["model"] == "anthropic/claude-opus-4-7"
    assert two.models() == (["claude-opus-4-7"], ["gpt-loopback"])


def test_a_refused_key_is_the_end_and_no_other_model_is_asked(two):
    two.cli.script(wire.failure(401, "authentication_error", "invalid x-api-key"))
    done = two.run(*FRAMES, env={"CALIBAN_ROUTER_CONFIG": str(two.file)})
    assert (done.code, done.frames[-1]["subtype"]) == (1, "error")
    assert "invalid x-api-key" in done.frames[-1]["error"]
    assert two.models() == (["claude-opus-4-7"], [])


def test_a_fallback_model_answers_in_place_of_the_first(cli):
    cli.script(BUSY, wire.exchange(wire.text("the smaller one"), model="claude-haiku-4-5"))
    done = cli.run(*FRAMES, "--model", "claude-opus-4-7", "--fallback-model", "claude-haiku-4-5")
    assert (done.code, done.frames[-1]["result"]) == (0, "the smaller one")
    assert switches(done) == [("anthropic/claude-opus-4-7", "anthropic/claude-haiku-4-5", "overloaded")]
    assert [body["model"] for body in cli.bodies()] == ["claude-opus-4-7", "claude-haiku-4-5"]


def test_settings_name_a_fallback_and_a_model_for_the_main_loop(two):
    settings = (
        '{"fallback_model": {"provider": "openai", "name": "gpt-loopback"},'
        ' "model_overrides": {"main_loop": "claude-haiku-4-5"},'
        f' "provider": {{"openai": {{"base_url": "{two.second.url}/v1"}}}}}}'
    )
    two.cli.script(BUSY)
    two.second.extend(chat.exchange(chat.text("ok")))
    done = two.run("-p", "hi", "--settings", settings)
    assert (done.code, done.out) == (0, "ok\n")
    assert "anthropic/claude-haiku-4-5 → openai/gpt-loopback" in done.err
    assert two.models() == (["claude-haiku-4-5"], ["gpt-loopback"])


def test_the_model_of_a_flag_is_asked_first(two):
    two.cli.script(wire.exchange(wire.text("ok")))
    assert two.run("-p", "hi", "--config", str(two.file), "--model", "claude-haiku-4-5").code == 0
    assert two.models() == (["claude-haiku-4-5"], [])


def test_another_provider_by_flag_sets_all_routes_aside(two):
    two.second.extend(chat.exchange(chat.text("ok")))
    flags = ("--provider", "openai", "--model", "mine")
    assert two.run("-p", "hi", "--config", str(two.file), *flags).code == 0
    assert two.models() == ([], ["mine"])


def test_what_is_not_the_routers_in_its_file_is_named(two):
    two.file.write_text(
        f"{two.file.read_text()}\n[images]\nmax_bytes = 9\n\n[permissions]\ndeny = ['Read']\n"
    )
    two.cli.script(wire.exchange(wire.text("ok")), wire.exchange(wire.text("ok")))
    done = two.run("-p", "hi", "--config", str(two.file))
    assert done.code == 0
    assert done.err.count("only [router] and [provider] are read there, not [images], [permissions]") == 1
    own = two.cli.home / ".config" / "caliban" / "caliban.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("[images]\nmax_bytes = 9\n")
    done = two.run("-p", "hi")
    assert done.code == 0
    assert done.err.count("not [images]") == 1


def test_routes_of_a_project_count_only_where_it_is_trusted(two):
    (two.cli.work / "caliban.toml").write_text(two.file.read_text().replace("claude-opus-4-7", "theirs"))
    two.cli.script(wire.exchange(wire.text("ok")), wire.exchange(wire.text("ok")))
    wary = two.run("-p", "hi", "--model", "claude-haiku-4-5")
    assert wary.code == 0
    assert wary.err.count("caliban.toml is not used until this project is trusted") == 1
    digest = two.run("trust", "show", "--json").json["digest"]
    assert two.run("trust", "add", "--yes", "--digest", digest).code == 0
    assert two.run("-p", "hi").code == 0
    assert two.models() == (["claude-haiku-4-5", "theirs"], [])


def test_a_routed_session_goes_on_without_its_routes(two):
    two.cli.script(wire.exchange(wire.text("one")), wire.exchange(wire.text("two")))
    assert two.run("-p", "hi", "--session", "s", "--config", str(two.file)).code == 0
    assert two.run("-p", "and?", "--resume", "s").out == "two\n"
    assert two.models() == (["claude-opus-4-7", "claude-opus-4-7"], [])


def test_a_run_without_routes_does_not_load_the_router(cli):
    cli.script(wire.exchange(wire.text("ok")))
    done = cli.run("-p", "hi", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert done.code == 0
    assert "caliban.compose.model" in done.err
    assert "caliban_model_router" not in done.err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[router", "not TOML"),
        ("[router]\nroute = []\n", "there is no route"),
        (ROUTES.replace('"openai"', '"nobody"'), "no provider is called 'nobody'"),
        ("[other]\n", "there is no [router] table"),
    ],
    ids=["syntax", "no route", "unknown provider", "no table"],
)
def test_a_broken_file_is_named_and_nobody_is_asked(two, text, why):
    two.file.write_text(text)
    done = two.run("-p", "hi", "--config", str(two.file))
    assert done.code == 78
    assert str(two.file) in done.err
    assert why in done.err
    assert two.models() == ([], [])


def test_a_file_that_is_not_there_is_named(cli):
    done = cli.run("-p", "hi", "--config", "missing.toml")
    assert done.code == 78
    assert "missing.toml" in done.err


def test_router_debug_shows_candidates_their_state_and_their_knobs(two):
    flags = ("--purpose", "main_loop", "--has-tools", "--effort", "low")
    done = two.run("--config", str(two.file), "router", "debug", *flags)
    assert (done.code, done.err) == (0, "")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert lines == [
        f"from {two.file}",
        "purpose main_loop, needs tool use (basic), effort low",
        "+ first anthropic/claude-opus-4-7 first choice [no breaker]",
        "+ second openai/gpt-loopback fallback 1 [no breaker]",
        "effort low: effort=low (first)",
        "effort low: budget=1024 (second)",
    ]


def test_router_debug_without_routes_shows_the_model_of_flags(cli):
    done = cli.run("router", "debug", "--model", "mine", "--fallback-model", "other")
    assert done.code == 0
    marks = [line.split()[2] for line in done.out.splitlines() if line.startswith("+")]
    assert marks == ["anthropic/mine", "anthropic/other"]


def test_where_every_route_fails_the_error_names_each_and_what_it_said(cli):
    gone = [wire.failure(404, "not_found_error", f"model: {word} is gone") for word in ("this", "that")]
    flags = ("--model", "claude-opus-4-7", "--fallback-model", "claude-haiku-4-5")
    cli.script(*gone)
    done = cli.run(*FRAMES, *flags)
    assert (done.code, done.frames[-1]["subtype"]) == (1, "error")
    assert done.frames[-1]["error"].startswith("fallback exhausted: primary: anthropic does not offer")
    assert "this is gone" in done.frames[-1]["error"]
    assert "fallback_model: " in done.frames[-1]["error"]
    cli.script(*gone)
    spoken = cli.run("-p", "hi", *flags)
    assert (spoken.code, spoken.out) == (1, "")
    assert "that is gone" in spoken.err


def test_reasoning_that_a_fallback_signed_comes_back_to_it_after_a_resume(cli):
    signed = wire.thinking("hm", signature="SIG")
    cli.script(BUSY, wire.exchange(signed, wire.text("one"), model="claude-haiku-4-5"))
    cli.script(BUSY, wire.exchange(wire.text("two"), model="claude-haiku-4-5"))
    flags = ("--model", "claude-opus-4-7", "--fallback-model", "claude-haiku-4-5")
    assert cli.run("-p", "hi", "--session", "s", *flags).code == 0
    assert cli.run("-p", "and?", "--resume", "s", *flags).code == 0
    primary, fallback = (cli.bodies()[number]["messages"][1]["content"] for number in (2, 3))
    assert [block["type"] for block in primary] == ["text"]
    assert [(block["type"], block.get("signature")) for block in fallback] == [
        ("thinking", "SIG"),
        ("text", None),
    ]


def test_past_its_soft_share_a_budget_turns_to_the_cheaper_route_and_then_stops(cli):
    (cli.work / "f").write_text("x")
    usage = Usage(input_tokens=1_000_000)
    cli.script(*(wire.exchange(wire.tool_use("Read", {"path": "f"}), usage=usage) for _ in range(9)))
    done = cli.run(
        *FRAMES,
        *("--model", "claude-opus-4-7", "--fallback-model", "claude-haiku-4-5", "--max-budget-usd", "6.1"),
    )
    # 5 dollars on the first model pass 80 % of 6.1; two more on the cheaper one pass the limit.
    assert [body["model"] for body in cli.bodies()] == ["claude-opus-4-7", *["claude-haiku-4-5"] * 2]
    assert switches(done) == [("anthropic/claude-opus-4-7", "anthropic/claude-haiku-4-5", "budget")]
    assert (done.code, done.frames[-1]["subtype"]) == (137, "budget_exceeded")
    assert done.frames[-1]["total_cost_usd"] == pytest.approx(7, abs=0.001)


def test_the_soft_share_is_a_setting(cli):
    (cli.work / "f").write_text("x")
    usage = Usage(input_tokens=1_000_000)
    cli.script(wire.exchange(wire.tool_use("Read", {"path": "f"}), usage=usage))
    cli.script(wire.exchange(wire.text("ok"), usage=usage))
    done = cli.run(
        *FRAMES,
        *("--model", "claude-opus-4-7", "--fallback-model", "claude-haiku-4-5", "--max-budget-usd", "6"),
        *("--settings", '{"budget": {"soft_ratio": 1}}'),
    )
    assert [body["model"] for body in cli.bodies()] == ["claude-opus-4-7"] * 2
    assert done.code == 0


def test_summaries_are_written_by_the_model_that_routes_name(two):
    routes = '[[router.route]]\npurpose = "summarization"\nprovider = "openai"\nmodel = "summariser"\n'
    only = two.file.read_text().replace('id = "first"', 'id = "first"\nfallback = []')
    two.file.write_text(only + routes)
    (two.cli.work / "f").write_text("word " * 4000)
    two.cli.script(*(wire.exchange(wire.tool_use("Read", {"path": "f"})) for _ in range(8)))
    two.cli.script(
        wire.failure(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
    )
    two.cli.script(wire.exchange(wire.text("done")))
    # The record is as long as what was refused, so it is read in two pieces.
    two.second.extend(*(chat.exchange(chat.text("They read f eight times.")) for _ in range(2)))
    done = two.run(*FRAMES, "--config", str(two.file))
    assert (done.code, done.frames[-1]["result"]) == (0, "done")
    assert [request.json["model"] for request in two.second.requests] == ["summariser"] * 2
    assert "They read f eight times." in two.cli.server.requests[-1].body.decode()
    assert "summariser" in done.frames[-1]["model_usage"]


def test_an_override_names_the_model_of_summaries(cli):
    (cli.work / "f").write_text("word " * 4000)
    cli.script(*(wire.exchange(wire.tool_use("Read", {"path": "f"})) for _ in range(8)))
    cli.script(
        wire.failure(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
    )
    cli.script(*(wire.exchange(wire.text("They read f."), model="claude-haiku-4-5") for _ in range(2)))
    cli.script(wire.exchange(wire.text("done")))
    overrides = '{"model_overrides": {"summarization": "claude-haiku-4-5"}}'
    done = cli.run("-p", "hi", "--settings", overrides)
    assert done.out == "done\n", done.err
    asked = [body["model"] for body in cli.bodies()]
    assert asked[-3:] == ["claude-haiku-4-5", "claude-haiku-4-5", asked[0]]


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_a_picture_that_no_route_can_see_is_an_error_unless_routing_is_not_strict(cli, tmp_path):
    (cli.work / "a.png").write_bytes(base64.b64decode(PIXEL))
    with LoopbackServer(ollama.Server([ollama.exchange(ollama.text("no eyes"))])) as server:
        file = tmp_path / "routes.toml"
        file.write_text(
            '[[router.route]]\npurpose = "main_loop"\nprovider = "ollama"\nmodel = "llama3.1"\n[router]\n'
            f'[provider.ollama]\nbase_url = "{server.url}"\n'
        )
        flags = ("-p", "what is on @a.png", "--config", str(file))
        strict = cli.run(*flags)
        assert strict.code == 1
        assert "vision" in strict.err
        loose = cli.run(*flags, env={"CALIBAN_STRICT_ROUTING": "false"})
        assert (loose.code, loose.out) == (0, "no eyes\n"), loose.err
        assert PIXEL not in server.requests[-1].body.decode()


def test_a_server_that_wants_reasoning_with_calls_takes_over_in_the_middle_of_a_tool_loop(two, cli, tmp_path):
    (cli.work / "f").write_text("x")
    cli.script(wire.exchange(wire.tool_use("Read", {"path": "f"})), BUSY)
    with LoopbackServer([chat.exchange(chat.text("done"))], validator=StrictChat(DEEPSEEK)) as server:
        file = tmp_path / "deep.toml"
        file.write_text(
            f'{ROUTES}\n[provider.openai]\nkind = "openai"\nbase_url = "{server.url}/v1"\n'
            'options = { quirks = "reasoning_field=reasoning_content" }\n'
        )
        done = two.run("-p", "hi", "--config", str(file), env={"OPENAI_API_KEY": "test-key"})
    assert (done.code, done.out) == (0, "done\n"), done.err


def test_a_fallback_of_settings_with_a_provider_that_is_not_there_is_code_78(cli):
    done = cli.run("-p", "hi", "--settings", '{"fallback_model": {"provider": "nope", "name": "m"}}')
    assert done.code == 78
    assert "fallback_model" in done.err
    assert "'nope'" in done.err


def test_another_model_than_was_asked_for_is_told_once_in_a_conversation(cli):
    cli.script(*(wire.exchange(wire.text(word), model="claude-3-5-haiku-latest") for word in ("a", "b")))
    frames = "".join('{"type":"user","content":"' + word + '"}\n' for word in ("one", "two"))
    flags = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")
    done = cli.run(*flags, stdin=frames.encode())
    assert [frame["subtype"] for frame in done.of("warning")] == ["model_mismatch"]
