"""Real reports of users of such tools about one vendor's replies and about fallbacks, by their numbers.

Which report is shown where is in `test_reports.py`.
"""

from __future__ import annotations

import json

import pytest
from hang_guard import LIMITS_S

from caliban_provider.testing.exchange import Exchange, Pause, Reset, Send
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire as anthropic
from caliban_provider_anthropic.testing.strict import StrictValidator as StrictAnthropic
from caliban_provider_google.testing import wire as google
from caliban_provider_google.testing.strict import StrictValidator as StrictGoogle
from caliban_provider_openai.testing import chat
from caliban_sessions import SessionStore

FRAMES = ("-p", "hi", "--output-format", "stream-json")
SIGNED = (
    anthropic.thinking("abc ü <&> \u2028", signature="SIG1+/=="),
    anthropic.redacted("cipher+/=="),
    anthropic.thinking(signature="SIG2+/=="),
)
BLOCKS = ",".join(
    json.dumps(block.whole, ensure_ascii=False, separators=(",", ":")) for block in SIGNED
).encode()
SECRETS = (b"SIG1", b"cipher", b"SIG2")


def test_b071_signed_reasoning_goes_back_byte_for_byte_and_to_its_own_model_only(cli):
    (cli.work / "f").write_text("x")
    call = anthropic.tool_use("Read", {"path": "f"})
    done = anthropic.exchange(anthropic.text("done"))
    strict = StrictAnthropic(signed=SIGNED)
    replies = [anthropic.exchange(*SIGNED, call), *[done] * 4]
    with LoopbackServer(replies, validator=strict) as server, LoopbackServer([]) as other:
        other.extend(chat.exchange(chat.text("done")))
        env = {
            "ANTHROPIC_BASE_URL": server.url,
            "OPENAI_BASE_URL": f"{other.url}/v1",
            "OPENAI_API_KEY": "k",
        }
        assert cli.run("-p", "hi", "--session", "s", env=env).out == "done\n"
        assert cli.run("-p", "on", "-r", "s", env=env).out == "done\n"
        fork = ("-r", "s", "--fork-session")
        assert cli.run("-p", "on", *fork, "--model", "claude-opus-4-7", env=env).out == "done\n"
        away = ("--session", "t", "--provider", "openai", "--model", "m")
        assert cli.run("-p", "on", *fork, *away, env=env).out == "done\n"
        back = ("-r", "t", "--provider", "anthropic", "--model", anthropic.MODEL)
        assert cli.run("-p", "on", *back, env=env).out == "done\n"
        assert server.refused == ()
        same = [server.requests[place].body for place in (1, 2, 4)]
        strangers = [server.requests[3].body, other.requests[0].body]
    for body in same:
        assert b'"role":"assistant","content":[' + BLOCKS + b"," in body
    assert not [secret for body in strangers for secret in SECRETS if secret in body]


MALFORMED = {"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Bad: print("}
BLOCKED = {"blockReason": "SAFETY", "blockReasonMessage": "No."}
ENDS = {
    "malformed": ({"candidates": [MALFORMED]}, 3, 1, "tool calls that its provider cannot read"),
    "no candidate": ({"candidates": []}, 3, 1, "ended before"),
    "blocked": ({"promptFeedback": BLOCKED}, 1, 2, "the prompt was blocked: SAFETY: No."),
    "blocked, no candidate": ({"candidates": [], "promptFeedback": BLOCKED}, 1, 2, "SAFETY"),
    "no content": ({"candidates": [{"finishReason": "STOP"}]}, 1, 1, "the model wrote nothing"),
    "unknown reason": ({"candidates": [{"content": {"role": "model"}, "finishReason": "FOO"}]}, 1, 1, "FOO"),
}


@pytest.fixture
def gemini(cli):
    """Runs the command against a strict server of Gemini that answers with the given exchanges."""

    def run(server: LoopbackServer, *flags: str):
        env = {"GEMINI_BASE_URL": server.url, "GEMINI_API_KEY": "k"}
        return cli.run(*flags, "--provider", "google", "--model", google.MODEL, env=env)

    return run


@pytest.mark.parametrize("case", ENDS)
def test_b073_a_candidate_without_content_ends_in_words(cli, gemini, case):
    chunk, asked, code, words = ENDS[case]
    with LoopbackServer([google.raw(chunk)] * 9, validator=StrictGoogle()) as server:
        done = gemini(server, "-p", "hi", "--session", "s", "--output-format", "json")
        assert (len(server.requests), server.refused) == (asked, ())
    assert "Traceback" not in done.err
    assert (done.code, done.json["is_error"]) == (code, code != 0)
    assert words is None or (words in done.json["error"] and words in done.err)
    state = SessionStore(cli.home / ".local/share/caliban/sessions").load("s")
    assert [message for message in state.messages if not message.content] == []


def test_b073_a_call_that_was_malformed_once_is_asked_for_again(gemini):
    replies = [google.raw({"candidates": [MALFORMED]}), google.exchange(google.text("fine"))]
    with LoopbackServer(replies, validator=StrictGoogle()) as server:
        assert gemini(server, "-p", "hi").out == "fine\n"


@pytest.mark.parametrize("ids", [("id_1", "id_2"), (None, None)])
def test_b074_a_thought_signature_comes_back_on_its_very_part(cli, gemini, ids):
    for word in "xy":
        (cli.work / word).write_text(f"this is {word}")
    items = (
        google.thinking("hm", signature="VGhvdWdodA=="),
        google.together(
            google.call("Read", {"path": "x"}, id=ids[0], signature="VFM+/w=="),
            google.call("Read", {"path": "y"}, id=ids[1]),
        ),
    )
    parts = [part for item in items for event in item for part in event if "thoughtSignature" in part]
    done = google.exchange(google.text("done"))
    strict = StrictGoogle(signed=parts)
    with LoopbackServer([google.exchange(*items), done, done], validator=strict) as server:
        assert gemini(server, "-p", "hi", "--session", "s").out == "done\n"
        assert gemini(server, "-p", "on", "-r", "s").out == "done\n"
        assert server.refused == ()
        live, resumed = (request.json["contents"] for request in server.requests[1:])
    assert resumed[: len(live)] == live
    calls = [part for part in live[1]["parts"] if "functionCall" in part]
    assert [part.get("thoughtSignature") for part in calls] == ["VFM+/w==", None]
    answers = [part["functionResponse"] for part in live[2]["parts"]]
    assert [answer.get("id") for answer in answers] == list(ids)
    assert ["this is x" in json.dumps(answers[0]), "this is y" in json.dumps(answers[1])] == [True, True]


# b075 is about schemas of tools that other servers declare. The command has no such tool yet; the packages
# show it (see the table).

BUSY = anthropic.error_event("overloaded_error")
TEXT = anthropic.text("one ", "two ", "three", " four")
TRANSIENT = {
    "error before content": anthropic.broken(TEXT, after=1, end=BUSY),
    "error after three deltas": anthropic.broken(TEXT, after=6, end=BUSY),
    "reset": Exchange(steps=(Reset(),), raw=True),
    "529": anthropic.failure(529, "overloaded_error"),
}


def switches(done) -> list[tuple[str, str]]:
    """The models of each switch that frames tell of."""
    moves = [frame["details"] for frame in done.of("warning") if frame["subtype"] == "model_switch"]
    return [(details["from"], details["to"]) for details in moves]


ROUTE = '[[router.route]]\npurpose = "main_loop"\nprovider = "{}"\nmodel = "{}"\n{}\n'
SWITCH = ("anthropic/claude-opus-4-7", "anthropic/claude-haiku-4-5")
MODELS = ("--model", "claude-opus-4-7", "--fallback-model", "claude-haiku-4-5")


@pytest.mark.parametrize("case", TRANSIENT)
def test_b078_a_failure_that_passes_reaches_the_fallback_and_nothing_is_said_twice(cli, case):
    cli.script(TRANSIENT[case], anthropic.exchange(TEXT, model="claude-haiku-4-5"))
    done = cli.run(*FRAMES, *MODELS, "--session", "s")
    assert (done.code, done.frames[-1]["result"]) == (0, "one two three four"), done.err
    assert switches(done) == [SWITCH]
    assert [body["model"] for body in cli.bodies()] == ["claude-opus-4-7", "claude-haiku-4-5"]
    state = SessionStore(cli.home / ".local/share/caliban/sessions").load("s")
    assert [message.text for message in state.messages[1:]] == ["hi", "one two three four"]


def test_b078_a_name_that_is_not_found_reaches_the_fallback(cli):
    routes = cli.home / "routes.toml"
    routes.write_text(
        ROUTE.format("openai", "gpt-loopback", "")
        + ROUTE.format("anthropic", "claude-haiku-4-5", "")
        + '[provider.openai]\nbase_url = "http://caliban-test.invalid/v1"\n'
    )
    cli.script(anthropic.exchange(TEXT, model="claude-haiku-4-5"))
    done = cli.run(*FRAMES, "--config", str(routes), env={"OPENAI_API_KEY": "k"})
    assert (done.code, done.frames[-1]["result"]) == (0, "one two three four"), done.err
    assert switches(done) == [("openai/gpt-loopback", "anthropic/claude-haiku-4-5")]


@pytest.mark.parametrize(("status", "kind"), [(400, "invalid_request_error"), (401, "authentication_error")])
def test_b078_a_failure_that_stays_is_told_and_no_other_model_is_asked(cli, status, kind):
    cli.script(anthropic.failure(status, kind, "the reason of the server"))
    done = cli.run(*FRAMES, *MODELS)
    assert (done.code, switches(done)) == (1, [])
    assert "the reason of the server" in done.frames[-1]["error"]
    assert [body["model"] for body in cli.bodies()] == ["claude-opus-4-7"]


def test_b078_once_it_has_cooled_down_the_first_model_is_asked_again(cli):
    assert any(asked_while_it_cools_for(seconds, cli) for seconds in LIMITS_S)


def asked_while_it_cools_for(seconds: int, cli) -> bool:
    """Whether the second prompt came while the first model cooled down, and the third once it had."""
    routes = cli.home / "routes.toml"
    cool = f"breaker = {{ failure_threshold = 1, cooldown_secs = {seconds} }}"
    routes.write_text(
        ROUTE.format("anthropic", "claude-opus-4-7", cool) + ROUTE.format("anthropic", "claude-haiku-4-5", "")
    )
    one, two = (anthropic.reply(anthropic.text(word), model="claude-haiku-4-5") for word in ("one", "two"))
    pause = Pause(seconds + 0.1)
    head = {"content-type": "text/event-stream"}
    cli.script(TRANSIENT["529"], Exchange(headers=head, steps=tuple(map(Send, one))))
    cli.script(Exchange(headers=head, steps=(pause, *map(Send, two))))
    cli.script(anthropic.exchange(anthropic.text("three"), model="claude-opus-4-7"))
    frames = "".join(json.dumps({"type": "user", "content": word}) + "\n" for word in "abc").encode()
    flags = ("-p", "--input-format", "stream-json", "--config", str(routes))
    done = cli.run(*flags, stdin=frames)
    assert (done.code, done.out) == (0, "one\ntwo\nthree\n"), done.err
    asked = ["claude-opus-4-7", "claude-haiku-4-5", "claude-haiku-4-5", "claude-opus-4-7"]
    return [body["model"] for body in cli.bodies()[-4:]] == asked
