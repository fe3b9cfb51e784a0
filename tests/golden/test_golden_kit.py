"""The kit itself: it sees one byte, hides only what differs from run to run, and never records under CI."""

from __future__ import annotations

import pytest
from golden_kit import FILLER, Names, difference, in_order, is_recording


@pytest.mark.parametrize(
    ("environ", "records"),
    [({}, False), ({"CI": "true"}, False), ({"CALIBAN_GOLDEN": "record", "CI": ""}, True)],
)
def test_golden_files_are_written_only_when_somebody_asks(environ, records):
    assert is_recording(environ) is records


@pytest.mark.parametrize("environ", [{"CALIBAN_GOLDEN": "record", "CI": "1"}, {"CALIBAN_GOLDEN": "yes"}])
def test_a_recording_under_ci_or_by_another_word_fails(environ):
    with pytest.raises(AssertionError):
        is_recording(environ)


def test_a_difference_names_its_line_and_shows_both_sides():
    shown = difference(b'{"a": 1}\n{"b": 2}\n', b'{"a": 1}\n{"b":2}\n')
    assert shown.startswith("line 2, byte 14:\n")
    assert ('{"b": 2}' in shown, '{"b":2}' in shown) == (True, True)


def test_only_what_differs_from_run_to_run_gets_a_name(cli):
    names = Names(cli)
    text = f'{{"id": "0123456789ab","cwd":"{cli.work}/a","duration_ms":12,"at":"2026-01-02T03:04:05.678Z"}}'
    assert names(text) == '{"id": "<id 1>","cwd":"<work>/a","duration_ms":<number>,"at":"<time>"}'
    assert names('"ba9876543210" "0123456789ab"') == '"<id 2>" "<id 1>"'
    assert names(f"x {FILLER}y") == "x <lorem 1500 times>y"
    kept = '{"a" : 1.50,"at":"2024-01-02T03:04:05.678Z","sig":"0123456789abc"}'
    assert names(kept) == kept


def test_results_side_by_side_are_sorted_and_nothing_else_is():
    one, two = (
        '{"type":"tool_result","tool_use_id":"1"}\n',
        '{"type":"tool_result","tool_use_id":"2 \u2028"}\n',
    )
    other = '{"type":"a"}\n'
    assert in_order(two + one + other + two) == one + two + other + two
