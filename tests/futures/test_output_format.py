"""A further format of output is a row and its encoder."""

import pytest

from caliban.cli.formats import OUTPUT_FORMATS, OutputFormat, output_format
from caliban.cli.options import OutputOptions
from caliban_common.event import AssistantTextDelta

MODULE = """\
class Capitals:
    def __init__(self, options): self.name = options.output_format
    def begin(self, init): return b""
    def prompt(self, message): return b""
    def event(self, event): return getattr(event, "text", "").upper().encode()
    def result(self, result): return b""
"""
WITH_ROW = (*OUTPUT_FORMATS, OutputFormat("capitals", "the answer, loud", "capitals:Capitals"))


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "capitals.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_a_row_brings_its_encoder(module):
    encoder = output_format("capitals", WITH_ROW).load()(OutputOptions(output_format="capitals"))
    assert encoder.event(AssistantTextDelta(turn=1, text="quiet")) == b"QUIET"
