"""Reading the head of a GGUF file."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.remedy import Remedy
from caliban_provider_local.errors import NotAModel
from caliban_provider_local.gguf import GgufHeader, read_header
from caliban_provider_local.weights import packaged_weights


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gguf") / "model.gguf"


def read(scratch: Path, data: bytes) -> GgufHeader:
    scratch.write_bytes(data)
    return read_header(scratch)


@pytest.mark.parametrize("version", [2, 3])
def test_a_head_says_what_the_model_is(scratch: Path, make_gguf: Callable[..., bytes], version: int) -> None:
    data = make_gguf(version=version)
    assert read(scratch, data) == GgufHeader(
        architecture="llama",
        name="Tiny",
        context_tokens=2048,
        quantisation="Q4_1",
        parameters=32,
        chat_template="{{ messages }}",
        size_bytes=len(data),
    )


def test_what_a_head_does_not_say_is_unknown(scratch: Path) -> None:
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, 0)
    assert read(scratch, data) == GgufHeader(
        architecture="",
        name="",
        context_tokens=None,
        quantisation="",
        parameters=0,
        chat_template=None,
        size_bytes=24,
    )


def test_a_model_in_several_files_does_not_tell_its_size(
    scratch: Path, make_gguf: Callable[..., bytes]
) -> None:
    assert read(scratch, make_gguf(split__count=3)).parameters is None


def test_a_value_of_the_wrong_type_counts_as_absent(scratch: Path, make_gguf: Callable[..., bytes]) -> None:
    header = read(scratch, make_gguf(llama__context_length="many", general__name=5, general__file_type=77))
    assert (header.context_tokens, header.name, header.quantisation) == (None, "", "type 77")


def test_every_truncation_is_an_error(scratch: Path, make_gguf: Callable[..., bytes]) -> None:
    data = make_gguf()
    for length in range(len(data)):
        with pytest.raises(NotAModel, match="not a usable GGUF model"):
            read(scratch, data[:length])


def test_a_large_vocabulary_spans_many_reads(scratch: Path, make_gguf: Callable[..., bytes]) -> None:
    words = [f"word {number} " + "x" * (number % 97) for number in range(60_000)]
    data = make_gguf(tokenizer__ggml__tokens=[*words, "y" * 3_000_000], zz__last="kept")
    assert read(scratch, data).parameters == 32


@pytest.mark.parametrize(
    "claim",
    [
        struct.pack("<IQQ", 3, 1 << 63, 1),
        struct.pack("<IQQ", 3, 1, 1 << 63),
        struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 62),
        struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q1sIQ", 1, b"k", 8, 1 << 40),
        struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q1sIIQ", 1, b"k", 9, 0, 1 << 60),
        struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q1sIIQ", 1, b"k", 9, 8, 1 << 60),
        struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q1sIIQ", 1, b"k", 9, 9, 1 << 60),
        struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q1sI", 1, b"k", 99),
        struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q1sIIQ", 1, b"k", 9, 99, 0),
        struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q1sI", 1, b"k", 9) + struct.pack("<IQ", 9, 1) * 9,
        struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q1sI", 1, b"t", 1 << 31),
        struct.pack("<IQQ", 1, 0, 0),
        struct.pack(">IQQ", 3, 0, 0),
    ],
)
def test_absurd_claims_are_refused_unread(scratch: Path, claim: bytes) -> None:
    with pytest.raises(NotAModel):
        read(scratch, b"GGUF" + claim + bytes(200))


@given(st.data())
def test_damaged_heads_are_read_or_refused_and_nothing_else(
    scratch: Path, make_gguf: Callable[..., bytes], data: st.DataObject
) -> None:
    damaged = bytearray(make_gguf())
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        read(scratch, bytes(damaged))
    except NotAModel:
        pass


@given(st.binary(max_size=300))
def test_noise_behind_the_magic_is_read_or_refused(scratch: Path, noise: bytes) -> None:
    try:
        read(scratch, b"GGUF" + struct.pack("<I", 3) + noise)
    except NotAModel:
        pass


@pytest.mark.parametrize("data", [b"", b"GGU", b"PK\x03\x04" + bytes(100), b"version https://git-lfs"])
def test_another_file_is_not_a_model(scratch: Path, data: bytes) -> None:
    with pytest.raises(NotAModel, match="it does not begin with GGUF"):
        read(scratch, data)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotAModel, match=r"cannot read the model .*gone\.gguf: no such file") as caught:
        read_header(tmp_path / "gone.gguf")
    assert (caught.value.hint, caught.value.remedy) == ("name a whole .gguf file", Remedy(kind="model_file"))


@pytest.mark.skipif(os.name != "posix", reason="opening a directory fails differently elsewhere")
def test_a_directory_is_not_a_model(tmp_path: Path) -> None:
    with pytest.raises(NotAModel, match="is a directory"):
        read_header(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.gguf"
    os.mkfifo(pipe)
    with pytest.raises(NotAModel, match="is not a regular file"):
        read_header(pipe)


@pytest.mark.local_model
def test_the_packaged_weights_describe_themselves() -> None:
    path = packaged_weights()
    assert path is not None
    header = read_header(path)
    assert (header.architecture, header.context_tokens, header.quantisation, header.parameters) == (
        "llama",
        8192,
        "Q4_1",
        134_515_008,
    )
    assert header.chat_template is not None and "<|im_start|>" in header.chat_template
