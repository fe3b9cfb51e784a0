"""What a library found to do next is said in the words of the command."""

from __future__ import annotations

import pytest

from caliban_common.remedy import Remedy
from caliban_common.stop import Stop
from caliban_drive import Notice
from caliban_drive.remedies import advice, result_advice
from caliban_drive.result import PromptResult
from caliban_headless.notices import show_notice


def test_a_hint_without_a_remedy_stays_as_it_is():
    assert (advice("free some space", None), advice(None, None)) == ("free some space", None)


def test_a_remedy_is_put_into_flags_with_its_name_and_the_words_of_the_library():
    assert advice("fork it", Remedy(kind="session_fork", name="s")) == (
        "-r s --fork-session goes on from here in a session of its own; "
        "else use another --session name, or --no-save"
    )
    weights = advice("pip install x, or name a file such as a.gguf", Remedy(kind="local_weights"))
    assert weights == "pip install x, or name a file such as a.gguf with --model"
    assert advice("as JSON", Remedy(kind="settings_overlay")) == (
        """for example --settings '{"max_turns": 5}'"""
    )


def test_the_end_of_a_run_and_a_notice_are_said_with_their_remedies(capfd: pytest.CaptureFixture[str]):
    stop = Stop(kind="provider_error", hint="none", remedy=Remedy(kind="model_file"))
    assert result_advice(PromptResult(subtype="error", stop=stop, hint="none")) == (
        "name a whole .gguf file with --model"
    )
    assert result_advice(PromptResult(subtype="error", hint="free some space")) == "free some space"
    show_notice(Notice(subtype="x", message="left out", hint="none", remedy=Remedy(kind="tool_package")))
    assert capfd.readouterr().err == (
        "caliban: left out\nhint: reinstall or remove the package that offers it, or take --bare\n"
    )
