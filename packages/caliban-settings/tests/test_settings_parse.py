"""Bytes that are no settings: a clear error with the file, never a traceback, never a wait."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_settings import SettingsError
from caliban_settings.parse import MAX_BYTES, parse

DEEP = 10_000
BROKEN = {
    "not TOML": (".toml", b"a = \n", ":1:5: not TOML: Invalid value"),
    "a cut TOML file": (".toml", b"a = ", ": not TOML: Invalid value at the end of the file"),
    "a second line": (".toml", b"a = 1\nb = = 2\n", ":2:5: not TOML: Invalid value"),
    "a key given twice in TOML": (".toml", b"a = 1\na = 2\n", ":2:6: not TOML: Cannot overwrite a value"),
    "latin-1": (
        ".toml",
        b'a = 1\nb = "caf\xe9"\n',
        ":2: not UTF-8 text (byte 0xe9)\nhint: save the file as UTF-8",
    ),
    "UTF-16": (".json", "{}".encode("utf-16"), ":1: not UTF-8 text (byte 0xff)"),
    "half of a character": (".json", b'{"a": 1,\n "b": "x\\ud800y"}', ":2:9: \\ud800 is half of a character"),
    "the other half": (".json", rb'{"a\ude00\ud83d": 1}', r":1:4: \ude00 is half of a character"),
    "NaN in TOML": (".toml", b"a = { b = nan }\n", ": 'b' must be a number, not nan"),
    "infinity in TOML": (".toml", b"a = [-inf]\n", ": 0 must be a number, not -inf"),
    "a huge integer in TOML": (".toml", b"a = 1" + b"0" * 5000, ": not TOML: Exceeds the limit"),
    "a long hexadecimal": (".toml", b"a = 0x" + b"f" * 9000, ": the number of 'a' has more than 64 bits"),
    "TOML arrays in each other": (
        ".toml",
        b"a = " + b"[" * DEEP + b"]" * DEEP,
        ": nested more than 64 levels",
    ),
    "TOML tables in each other": (
        ".toml",
        b"a = " + b"{a=" * DEEP + b"1" + b"}" * DEEP,
        ": nested more than 64 levels",
    ),
    "a dotted TOML key": (".toml", b"\n" + b"a." * DEEP + b"a = 1\n", ":2: nested more than 64 levels"),
    "a dotted TOML header": (".toml", b"\n[" + b"a." * DEEP + b"a]\n", ":2: nested more than 64 levels"),
    "a dotted TOML key of quoted parts": (
        ".toml",
        b"x = { " + b"'a' . \"a\"." * DEEP + b"a = 1 }\n",
        ":1: nested more than 64 levels",
    ),
    "65 levels by name": (".toml", b"a" + b".a" * 64 + b" = 1", ":1: nested more than 64 levels"),
    "65 levels by header and name": (
        ".toml",
        b"[a" + b".a" * 63 + b"]\na = 1\n",
        ": nested more than 64 levels",
    ),
    "not JSON": (".json", b'{\n "a": }', ":2:7: not JSON: Expecting value"),
    "a comment": (".json", b'{\n // why\n "a": 1}', ":2:2: not JSON: Expecting property name"),
    # Which column the interpreter names differs between its versions.
    "a comma too many": (".json", b'{"a": 1,}', ":1:"),
    "a key given twice in JSON": (".json", b'{"a": {"b": 1, "b": 2}}', ": the key 'b' is given twice"),
    "NaN in JSON": (".json", b'{"a": NaN}', ": NaN is not a number that settings may hold"),
    "infinity in JSON": (".json", b'{"a": -Infinity}', ": -Infinity is not a number"),
    "a large exponent": (".json", b'{"a": 1e999}', ": 'a' must be a number, not inf"),
    "a huge integer in JSON": (".json", b'{"a": 1' + b"0" * 5000 + b"}", ": Exceeds the limit"),
    "a 65-bit integer": (".json", b'{"a": 9223372036854775808}', ": the number of 'a' has more than 64 bits"),
    "JSON in each other": (".json", b'{"a":' * DEEP, ":1: nested more than 64 levels"),
    "JSON arrays in each other": (
        ".json",
        b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}",
        ":1: nested more than 64",
    ),
    "no object": (".json", b"[1]", ": settings must be a JSON object, not an array"),
    "text after the object": (".json", b"{} x", ":1:4: not JSON: Extra data"),
    "NUL": (".json", b'{"a": "\x00"}', ":1:8: not JSON: Invalid control character"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_said_with_the_file(place: Any, name: str) -> None:
    suffix, data, complaint = BROKEN[name]
    path = place.write("project", data, suffix=suffix)
    with pytest.raises(SettingsError) as caught:
        place.load()
    assert str(caught.value).startswith(f"{path}{complaint}")
    assert path.read_bytes() == data


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_marks_line_ends_and_empty_files_are_accepted(place: Any, suffix: str) -> None:
    text = "max_turns = 5\nmax_tokens = 6\n" if suffix == ".toml" else '{"max_turns": 5,\n"max_tokens": 6}\n'
    for data in (text, "\ufeff" + text, text.replace("\n", "\r\n"), "\ufeff" + text.replace("\n", "\r\n")):
        place.write("user", data, suffix=suffix)
        assert place.load().merged == {"max_turns": 5, "max_tokens": 6}
    for empty in (b"", b"\xef\xbb\xbf", b"\r\n \n"):
        place.write("user", empty, suffix=suffix)
        assert place.load().merged == {}


def test_64_levels_are_accepted_in_both_formats() -> None:
    for data, toml in ((b"a" + b".a" * 63 + b" = 1", True), (b'{"a":' * 64 + b"1" + b"}" * 64, False)):
        value: Any = parse(data, name="f", toml=toml)[0]
        for _ in range(64):
            value = value["a"]
        assert value == 1


def test_brackets_in_text_do_not_nest() -> None:
    assert parse(b'{"a": "' + b"[" * 999 + b'\\"{{"}', name="f", toml=False)[0]["a"].startswith("[[")


@given(st.binary(max_size=60), st.booleans())
def test_random_bytes_are_settings_or_an_error_of_ours(data: bytes, toml: bool) -> None:
    try:
        assert isinstance(parse(data, name="f", toml=toml)[0], dict)
    except SettingsError as error:
        assert error.message.startswith("f:")


def test_random_damage_to_real_settings_is_never_a_traceback(place: Any) -> None:
    chance = random.Random(3)
    text = (
        b'model = "m"\n[permissions]\nallow = ["a"]\n[[permissions.rules]]\npattern = "x"\naction = "ask"\n'
        b'[mcp_servers.x]\ncommand = "c"\nenv = { A = "1" }\n[[hooks.Stop]]\nmatcher = "z"\n'
    )
    for _ in range(150):
        damaged = bytearray(text)
        for _ in range(chance.randrange(1, 5)):
            damaged[chance.randrange(len(damaged))] = chance.choice(b'[]{}="\n.#ax0\xff')
        place.write("project", bytes(damaged))
        try:
            place.load()
        except SettingsError as error:
            assert str(place.root) in error.message


HOSTILE = {
    "escaped quotes without an end": (".json", b'{"a": "' + b'\\"' * 400_000),
    "brackets without an end": (".json", b"[" * MAX_BYTES),
    "a key of a thousand thousand parts": (".toml", b"a." * 500_000 + b"a = 1"),
    "one long word": (".toml", b"a" * 1_000_000),
    "words with dots": (".toml", (b"a." * 63 + b"a ") * 8_000),
    "quotes": (".toml", b"'" * 1_000_000),
    "a deep header and many keys": (
        ".toml",
        b"[" + b"a." * 200_000 + b"a]\n" + b"".join(b"k%d=1\n" % n for n in range(50_000)),
    ),
    "many unknown keys": (".json", b"{" + b",".join(b'"k%d":1' % n for n in range(60_000)) + b"}"),
    "many wrong values": (".json", b'{"env":{' + b",".join(b'"k%d":1' % n for n in range(60_000)) + b"}}"),
    "a line of blanks": (".toml", b'oops = 1\ntext = """\n[' + b" " * 900_000 + b'\n"""\n'),
    "many rules": (
        ".json",
        b'{"permissions":{"rules":[' + b",".join([b'{"pattern":"a","action":"allow"}'] * 20_000) + b"]}}",
    ),
    "many servers": (
        ".json",
        b'{"mcp_servers":{' + b",".join(b'"s%d":{"url":"u"}' % n for n in range(20_000)) + b"}}",
    ),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_cost_no_more_than_their_size(place: Any, name: str) -> None:
    suffix, data = HOSTILE[name]
    assert len(data) <= MAX_BYTES
    place.write("project", data, suffix=suffix)
    try:
        loaded = place.load()
    except SettingsError as error:
        assert len(str(error)) < 2_000
    else:
        assert sum(len(warning) for warning in loaded.warnings) < 10_000


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
@pytest.mark.timeout(20)
@pytest.mark.parametrize("scope", ["managed", "user", "project", "local"])
def test_a_named_pipe_is_refused_without_waiting(place: Any, scope: Any) -> None:
    path = place.file(scope)
    os.mkfifo(path)
    path.chmod(0o644)
    with pytest.raises(SettingsError, match="is a named pipe, not a regular file"):
        place.load()


@pytest.mark.skipif(os.name != "posix", reason="devices")
def test_a_link_to_a_device_is_refused(place: Any) -> None:
    place.file("project").symlink_to("/dev/zero")
    with pytest.raises(SettingsError, match="is a device"):
        place.load()


def test_a_directory_in_place_of_a_file_is_refused(place: Any) -> None:
    place.file("user").mkdir()
    with pytest.raises(SettingsError, match="directory"):
        place.load()


def test_a_file_where_the_directory_should_be_is_no_settings(place: Any) -> None:
    (place.workspace / ".caliban").rmdir()
    (place.workspace / ".caliban").write_text("x")
    assert place.load().merged == {}


def test_a_file_above_the_cap_is_refused_before_it_is_read(place: Any) -> None:
    with place.file("user").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(SettingsError, match="at most 1,048,576 are read"):
        place.load()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_may_not_be_read_is_an_error_not_an_absence(place: Any) -> None:
    path = place.write("user", "max_turns = 5\n")
    path.chmod(0)
    with pytest.raises(SettingsError, match="permission denied"):
        place.load()
    path.chmod(0o600)
    path.parent.chmod(0)
    try:
        with pytest.raises(SettingsError, match="ermission denied"):
            place.load()
    finally:
        path.parent.chmod(0o700)
