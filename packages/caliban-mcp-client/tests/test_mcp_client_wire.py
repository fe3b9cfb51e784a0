"""The text of the wire: read alike however it is cut, and never in two ways."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_mcp_client import judge, paramheaders
from caliban_mcp_client.content import ImageContent, UnknownContent
from caliban_mcp_client.decode import call_result, content_of
from caliban_mcp_client.entries import read_tool
from caliban_mcp_client.errors import CallRefused, HttpRefused, ProtocolError
from caliban_mcp_client.events import EventReader
from caliban_mcp_client.frames import matched_id, read_frames
from caliban_mcp_client.handler import with_defaults
from caliban_mcp_client.handshake import server_info
from caliban_mcp_client.lines import LineReader, LongLine
from caliban_mcp_client.news import Changes
from caliban_mcp_client.oddities import Oddities
from caliban_mcp_client.values import ResourcesChanged, ResourceUpdated

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    at = sorted({place % (len(data) + 1) for place in places})
    return [data[a:b] for a, b in zip([0, *at], [*at, len(data)], strict=True)]


@given(
    st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=6),
    st.lists(st.integers(0)),
)
def test_lines_are_the_same_however_bytes_arrive(lines, places):
    data = b"".join(line + b"\n" for line in lines)
    reader = LineReader(1000)
    read = [line for piece in cut(data, places) for line in reader.feed(piece)]
    assert (read, list(reader.close())) == (lines, [])


@given(st.integers(1, 40), st.lists(st.integers(0, 80), max_size=5), st.lists(st.integers(0)))
def test_a_line_that_is_too_long_is_named_and_the_others_stay(limit, sizes, places):
    data = b"".join(b"x" * size + b"\n" for size in sizes)
    reader = LineReader(limit)
    lines = [line for piece in cut(data, places) for line in reader.feed(piece)]
    assert [line.size_bytes if isinstance(line, LongLine) else len(line) for line in lines] == sizes
    assert [isinstance(line, LongLine) for line in lines] == [size > limit for size in sizes]


@given(st.binary(max_size=300), st.lists(st.integers(0)))
def test_events_are_the_same_however_bytes_arrive(data, places):
    whole, pieces = EventReader(10_000), EventReader(10_000)
    wanted = [*whole.feed(data), *whole.close()]
    events = [event for piece in cut(data, places) for event in pieces.feed(piece)]
    assert [*events, *pieces.close()] == wanted
    assert (pieces.last_id, pieces.retry_s) == (whole.last_id, whole.retry_s)


def test_events_are_those_of_the_specification():
    reader = EventReader(50)
    text = "\ufeff: hi\r\nevent: a\r\nid: 7\r\nretry: 1500\r\ndata: x\u2028y\r\n"
    text += "data:  z\r\n\r\nid: 8\ndata:\n\ndata"
    events = list(reader.feed(text.encode()))
    assert [(event.name, event.data.decode()) for event in events] == [("a", "x\u2028y\n z"), ("message", "")]
    assert (reader.last_id, reader.retry_s) == ("8", 1.5)
    (long,) = reader.feed(b': {"x"' + b"y" * 60 + b"\n\n")
    assert long.size_bytes > 50


@given(JSON, JSON)
def test_a_frame_is_what_was_sent(params, result):
    request = {"jsonrpc": "2.0", "id": 3, "method": "x", "params": params}
    answer = {"jsonrpc": "2.0", "id": 4, "result": result}
    for frame in (request, answer):
        assert read_frames(json.dumps(frame).encode()) == ([json.loads(json.dumps(frame))], [])


@given(st.binary(max_size=200))
def test_anything_else_is_a_scrap_and_no_error(data):
    frames, scraps = read_frames(data)
    assert all(frame["jsonrpc"] == "2.0" for frame in frames)
    blank = b" \t\r\n\0"
    assert frames or scraps or not data.strip(blank).removeprefix(b"\xef\xbb\xbf").strip(blank)


@given(st.integers(0, 200), st.binary(max_size=3))
def test_an_answer_that_was_damaged_is_itself_or_a_scrap_that_names_its_call(place, put):
    line = b'{"jsonrpc":"2.0","id":41,"result":{"content":[{"type":"text","text":"a"}]}}'
    at = place % len(line)
    frames, scraps = read_frames(line[:at] + put + line[at + 1 :])
    assert len(frames) + len(scraps) <= 2
    for scrap in scraps:
        assert scrap.ids in ((), (41,)) or at in range(16, 28)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"jsonrpc":"2.0","id":1,"id":2,"result":{}}', "twice"),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"result":{}}', "twice"),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1}}', "without one"),
        (b'{"jsonrpc":"2.0","id":1}', "without one"),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', "no text"),
        (b'{"jsonrpc":"1.0","id":1,"result":{}}', "no frame"),
        (b'{"JSONRPC":"2.0","id":1,"result":{}}', "no frame"),
        (b'info: {"jsonrpc":"2.0","id":1,"result":{}}', "at its end"),
        (b"[1,2,3]", "no frame"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_what_could_be_read_in_two_ways_is_not_read(line, why):
    frames, (scrap,) = read_frames(line)
    assert frames == []
    assert why in scrap.why


def test_members_of_results_may_have_any_name():
    line = b'{"jsonrpc":"2.0","id":1,"result":{"id":1,"result":{"id":2,"error":3},"method":[{"id":1}]}}'
    assert read_frames(line)[0][0]["result"]["result"] == {"id": 2, "error": 3}


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        ("3", 3),
        (3.0, 3),
        (True, None),
        (3.5, None),
        ("x", None),
        (None, None),
        ("-3", None),
        (1e300, None),
        ([3], None),
    ],
)
def test_a_number_of_ours_is_known_in_other_forms(value, number):
    assert matched_id(value) == number


def refused(code, data=None):
    return CallRefused("server/discover", code, "no", data)


@pytest.mark.parametrize(
    ("error", "is_http", "judgment"),
    [
        (
            refused(-32022, {"supported": ["2026-07-28", "2025-11-25"]}),
            False,
            judge.AskAgain(version="2026-07-28"),
        ),
        (
            refused(-32022, {"supported": ["2030-01-01"]}),
            False,
            judge.NothingInCommon(supported=("2030-01-01",)),
        ),
        (refused(-32022, {"supported": ["2025-11-25"]}), False, judge.Legacy()),
        (refused(-32022, {"supported": "x"}), False, judge.Legacy()),
        (refused(-32022), False, judge.Legacy()),
        *((refused(code), True, judge.Legacy()) for code in (-32601, -32602, -32000, -32001, -32020, -32021)),
        (HttpRefused(400, ""), True, judge.Legacy()),
        (HttpRefused(405, ""), True, judge.Legacy()),
        (ProtocolError("x"), True, judge.Legacy()),
        (ProtocolError("x"), False, judge.Legacy()),
    ],
)
def test_the_table_of_eras(error, is_http, judgment):
    assert judge.judged_error(error, is_http=is_http) == judgment


@pytest.mark.parametrize("status", [401, 403, 500, 502, 503])
def test_an_outage_or_a_login_is_no_era(status):
    assert isinstance(judge.judged_error(HttpRefused(status, ""), is_http=True), judge.Outage)


def test_results_of_discovery_are_judged():
    assert judge.judged_result({"supportedVersions": ["x", "2026-07-28"]}) == judge.Speaks(
        version="2026-07-28"
    )
    for odd in ({}, {"supportedVersions": "2026-07-28"}, {"supportedVersions": ["2025-11-25"]}):
        assert judge.judged_result(odd) == judge.Legacy()


@given(st.dictionaries(st.sampled_from(["name", "inputSchema", "description", "annotations", "_meta"]), JSON))
def test_any_entry_of_a_list_is_a_tool_or_none(entry):
    tool = read_tool(entry, lambda words: None)
    assert (tool is None) == (not (isinstance(entry.get("name"), str) and entry["name"]))
    if tool is not None:
        assert tool.raw is entry
        assert isinstance(tool.input_schema, dict)


@given(st.dictionaries(st.sampled_from(["content", "structuredContent", "isError", "_meta"]), JSON))
def test_any_result_is_a_value_or_a_fault_of_the_protocol(result):
    try:
        value = call_result(result)
    except ProtocolError:
        assert "content" not in result
        return
    assert value.is_error == (result.get("isError") is True)
    assert value.has_structured == (result.get("structuredContent") is not None)


def test_content_is_checked_before_it_is_believed():
    assert content_of({"type": "image", "data": "aGk=", "mimeType": "image/png"}) == ImageContent(
        data="aGk=", mime_type="image/png"
    )
    for odd in (
        {"type": "image", "data": "%%%"},
        {"type": "text"},
        {"type": "hologram"},
        {"type": 3},
        7,
        None,
    ):
        assert isinstance(content_of(odd), UnknownContent)


def test_odd_words_of_a_server_about_itself_are_left_out():
    info = server_info(
        {"serverInfo": {"name": 3, "version": 7}, "capabilities": [], "instructions": 1}, "legacy", "v"
    )
    assert (info.name, info.version, info.capabilities, info.instructions) == ("", "7", {}, "")
    assert not info.offers("tools")


SCHEMA_B = {"b": {"type": "string", "x-mcp-header": "A"}}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}


@pytest.mark.parametrize(
    ("schema", "match"),
    [
        ({"properties": {"a": {"type": "string", "x-mcp-header": "no name"}}}, "no name"),
        ({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}, "neither"),
        (
            {"properties": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}},
            "by names alone",
        ),
        (
            {"properties": {"a": SCHEMA["properties"]["a"], "b": {"type": "string", "x-mcp-header": "a"}}},
            "share",
        ),
        ({"properties": {"a": {"type": "string", "x-mcp-header": "a"}, **SCHEMA_B}}, "share"),
        ({"x-mcp-header": "A", "type": "string"}, "no argument"),
    ],
)
def test_a_mark_that_is_wrong_is_told(schema, match):
    fault, headers = paramheaders.read(schema)
    assert match in (fault or "")
    assert headers == ()


def test_arguments_become_headers():
    deep = {
        "properties": {
            "x": {"properties": {"y": {"type": "integer", "x-mcp-header": "Y"}}},
            **SCHEMA["properties"],
        }
    }
    fault, headers = paramheaders.read(deep)
    assert fault is None
    assert paramheaders.values(headers, {"x": {"y": 3}, "a": "b"}) == {"mcp-param-y": "3", "mcp-param-a": "b"}
    assert paramheaders.values(headers, {"x": {"y": 2**60}, "a": None}) == {}
    assert paramheaders.values(headers, {"x": {"y": True}, "a": [1]}) == {"mcp-param-y": "true"}


@given(st.text(max_size=20))
def test_a_header_is_printable_and_means_its_value(text):
    import base64

    header = paramheaders.coded(text)
    assert header.isascii() and (header.isprintable() or "\t" in header)
    assert header == header.strip()
    if header.startswith("=?base64?"):
        assert base64.b64decode(header[9:-2]).decode() == text
    else:
        assert header == text


def test_defaults_stand_where_nothing_else_does():
    schema = {"properties": {"a": {"default": 1}, "b": {"default": 2}, "c": {}}}
    assert with_defaults(schema, {"a": 5}) == {"a": 5, "b": 2}
    assert with_defaults({"properties": 3}, {"a": 5}) == {"a": 5}


def test_oddities_and_changes_are_bounded():
    oddities = Oddities()
    for number in range(300):
        oddities.add(f"kind {number}", "x")
    assert len(oddities.lines()) == 101
    assert oddities.lines()[-1] == "more that is odd (200 times)"
    changes = Changes()
    for number in range(5000):
        changes.put(ResourceUpdated(uri=str(number)))
    changes.close()
    changes.put(ResourcesChanged())
    assert len(changes._pending) == 1001
