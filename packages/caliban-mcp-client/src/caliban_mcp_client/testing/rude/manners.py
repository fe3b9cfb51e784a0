"""What becomes of a line that the server writes: a change for each word that names one."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any, Final

from caliban_mcp_client.testing.rude.offers import Frame

Mangler = Callable[[bytes, Frame, random.Random], bytes]


def line_of(frame: Frame) -> bytes:
    """A frame as it is written where nothing is wrong."""
    return json.dumps(frame, separators=(",", ":")).encode() + b"\n"


def _with_id(change: Callable[[Any], Any]) -> Mangler:
    def mangle(line: bytes, frame: Frame, pick: random.Random) -> bytes:
        del pick
        is_answer = "method" not in frame and "id" in frame
        return line_of({**frame, "id": change(frame["id"])}) if is_answer else line

    return mangle


def _answers(change: Callable[[bytes, random.Random], bytes]) -> Mangler:
    """A change of what answers calls, the handshake aside."""

    def mangle(line: bytes, frame: Frame, pick: random.Random) -> bytes:
        is_call = "content" in frame.get("result", {})
        return change(line, pick) if is_call else line

    return mangle


def _flipped(line: bytes, pick: random.Random) -> bytes:
    at = pick.randrange(len(line) - 1)
    byte = line[at] ^ (1 << pick.randrange(7))
    return line[:at] + bytes([byte if byte != 10 else 32]) + line[at + 1 :]


KIND: Final[Mapping[str, Mangler]] = {
    "unknown_members": lambda line, frame, pick: line_of({"more": [1], **frame, "Id": 4, "Result": {}}),
    "id_string": _with_id(str),
    "id_float": _with_id(float),
    "surrogates": _answers(lambda line, pick: line.replace(b'"text":"', b'"text":"\\ud800')),
    "nan": _answers(lambda line, pick: line.replace(b'"result":{', b'"result":{"n":NaN,')),
    "bad_utf8": _answers(lambda line, pick: line.replace(b'"text":"', b'"text":"\xff\xfe')),
    "batch": lambda line, frame, pick: b"[" + line[:-1] + b"]\n",
    "mixed_batch": lambda line, frame, pick: b'[3,{"level":"x"},' + line[:-1] + b"]\n",
    "twice": lambda line, frame, pick: line if "method" in frame else line + line,
    "strays": lambda line, frame, pick: line_of({"jsonrpc": "2.0", "id": 99_999, "result": {}}) + line,
    "unknown_notices": lambda line, frame, pick: line_of({"jsonrpc": "2.0", "method": "x/y"}) + line,
    "noise": lambda line, frame, pick: b"starting up...\n\n  \n" + line + b"INFO done\n",
    "json_noise": lambda line, frame, pick: b'{"level":"info","msg":"hi"}\n[1,2,3]\nnull\n"x"\n7\n' + line,
    "crlf": lambda line, frame, pick: line[:-1] + b"\r\n",
    "nul": lambda line, frame, pick: b"\0\0" + line[:-1] + b"\0\n",
    "bom": lambda line, frame, pick: b"\xef\xbb\xbf" + line,
    "blanks": lambda line, frame, pick: b"\n\n   " + line[:-1] + b"  \n\n",
    "half_writes": lambda line, frame, pick: line,
}
"""What can be understood all the same: calls have their right answers. In the order of being put on."""

UNKIND: Final[Mapping[str, Mangler]] = {
    "id_true": _with_id(lambda number: number == 1 or number),
    "wrong_id": _answers(lambda line, pick: line.replace(b'"id":', b'"id":5')),
    "cut": _answers(lambda line, pick: line[: pick.randrange(1, len(line))] + b"\n"),
    "cut_end": _answers(lambda line, pick: line[:-4] + b"\n"),
    "id_twice": _answers(lambda line, pick: line.replace(b'"result":', b'"id":77,"result":')),
    "result_and_error": _answers(lambda line, pick: line.replace(b'"result":', b'"error":{},"result":')),
    "brackets": _answers(lambda line, pick: line[:-2] + b',"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"),
    "giant": _answers(lambda line, pick: line[:-2] + b',"x":"' + b"x" * 3_000_000 + b'"}\n'),
    "no_object": _answers(lambda line, pick: line.replace(b'"result":{', b'"result":7,"x":{')),
    "dropped": _answers(lambda line, pick: b""),
    "garbage": _answers(lambda line, pick: pick.randbytes(200).replace(b"\n", b"x") + b"\n"),
    "bit": _answers(_flipped),
}
"""What cannot: calls end with an error, or their right answer."""

DEADLY: Final = ("exit_on_call", "exit_on_probe", "exit_at_once", "hang", "closes_output", "speaks_http")
"""What ends a server, or may as well."""

LINGERING: Final = ("forks", "lingers", "exits_and_leaves")
"""What stays behind where nobody ends it.

`forks_away` leaves the session: that is ended with a server that does not end by itself, and else with us.
"""
