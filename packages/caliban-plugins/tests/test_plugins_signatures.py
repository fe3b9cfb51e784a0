"""Signatures of minisign: both forms, and every way in which one is not what it should be."""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from sign_kit import Signer, signer

from caliban_plugins import SignatureRefused
from caliban_plugins.signature import SignedBy, read_public_key, refuse_downgrade, verify_signature

DATA = b"an archive"
KEY = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
"""The key and the signatures of `test` below were made by minisign itself, and are public."""
LEGACY = """untrusted comment: signature from minisign secret key
RWQf6LRCGA9i59SLOFxz6NxvASXDJeRtuZykwQepbDEGt87ig1BNpWaVWuNrm73YiIiJbq71Wi+dP9eKL8OC351vwIasSSbXxwA=
trusted comment: timestamp:1555779966\tfile:test
QtKMXWyYcwdpZAlPF7tE2ENJkRd1ujvKjlj1m9RtHTBnZPa5WKU5uWRs5GoP5M/VqE81QFuMKI5k/SfNQUaOAA==
"""
PREHASHED = """untrusted comment: signature from minisign secret key
RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=
trusted comment: timestamp:1556193335\tfile:test
y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==
"""


def refusal(data: bytes, text: str, *keys: str) -> str:
    with pytest.raises(SignatureRefused) as caught:
        verify_signature(data, text, keys, "kit.tar.gz")
    return caught.value.message


def test_what_minisign_itself_has_signed_is_verified_in_both_forms() -> None:
    old = verify_signature(b"test", LEGACY, (KEY,), "x")
    new = verify_signature(b"test", PREHASHED, (signer().public, KEY), "x")
    assert (old.key_id, old.prehashed, old.signed_at) == ("E7620F1842B4E81F", False, 1555779966)
    assert (new.key, new.prehashed, new.comment) == (KEY, True, "timestamp:1556193335\tfile:test")
    assert read_public_key(f"untrusted comment: minisign public key\n{KEY}\n").text == KEY
    assert verify_signature(b"test", PREHASHED.replace("\n", "\r\n"), (KEY,), "x") == new
    assert "is not what the key" in refusal(b"test ", PREHASHED, KEY)


@pytest.mark.parametrize("prehashed", [True, False])
def test_each_byte_of_a_signature_counts_but_those_of_its_untrusted_comment(prehashed: bool) -> None:
    text = signer().sign(DATA, prehashed=prehashed)
    first, *rest = text.split("\n", 1)
    for number, char in enumerate(rest[0]):
        for other in {"A", "B", "=", " ", "\n", "é", ""} - {char}:
            changed = rest[0][:number] + other + rest[0][number + 1 :]
            if changed.rstrip("\n") != rest[0].rstrip("\n"):
                refusal(DATA, f"{first}\n{changed}", signer().public)
    signed = verify_signature(DATA, f"untrusted comment: other\n{rest[0]}", (signer().public,), "x")
    assert signed == verify_signature(DATA, text, (signer().public,), "x")
    assert "other" not in signed.words


@pytest.mark.parametrize("line", [1, 3])
def test_base64_has_one_spelling_alone(line: int) -> None:
    lines = signer().sign(DATA).split("\n")
    packed = lines[line].rstrip("=")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = packed[:-1] + alphabet[alphabet.index(packed[-1]) + 1]
    lines[line] = other + lines[line][len(packed) :]
    assert base64.b64decode(lines[line]) == base64.b64decode(signer().sign(DATA).split("\n")[line])
    assert "as it is written" in refusal(DATA, "\n".join(lines), signer().public)


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_no_text_that_was_not_signed_so_is_taken(data: st.DataObject) -> None:
    text = signer().sign(DATA, prehashed=data.draw(st.booleans()))
    lines = text.removesuffix("\n").split("\n")
    what = data.draw(st.sampled_from(["cut", "swap", "bit", "line", "more", "noise", "key"]))
    keys = (signer().public,)
    if what == "cut":
        text = text[: data.draw(st.integers(0, len(text) - 2))]
    elif what == "swap":
        one, other = data.draw(st.permutations(range(4)))[:2]
        lines[one], lines[other] = lines[other], lines[one]
        text = "\n".join(lines)
    elif what == "bit":
        number = data.draw(st.sampled_from([1, 3]))
        raw = bytearray(base64.b64decode(lines[number]))
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        text = "\n".join([*lines[:number], base64.b64encode(bytes(raw)).decode(), *lines[number + 1 :]])
    elif what == "line":
        lines[data.draw(st.integers(0, 3))] = data.draw(st.text(max_size=120))
        text = "\n".join(lines)
        if lines[0].startswith("untrusted comment:") and lines[1:] == signer().sign(DATA).split("\n")[1:4]:
            return
    elif what == "more":
        text += data.draw(st.text(min_size=1, max_size=40).filter(lambda more: more.strip("\n\r")))
    elif what == "noise":
        text = data.draw(st.text(max_size=400))
    else:
        keys = (signer(data.draw(st.integers(2, 200))).public,)
    if what == "line" and lines[0].startswith("untrusted comment:"):
        kept = text.split("\n", 1)[1].removesuffix("\n")
        if any(
            kept == signer().sign(DATA, prehashed=form).split("\n", 1)[1].rstrip() for form in (True, False)
        ):
            return  # the untrusted comment alone is another one
    refusal(DATA, text, *keys)


def test_foreign_keys_and_parts_of_other_signatures_are_refused_in_words() -> None:
    ours, theirs = signer(), signer(2)
    assert "what is pinned is 0101010101010101" in refusal(DATA, theirs.sign(DATA), ours.public)
    assert "what is pinned is none" in refusal(DATA, ours.sign(DATA))
    named_alike = Signer(theirs.secret, ours.key_id)
    assert "is not what the key" in refusal(DATA, named_alike.sign(DATA), ours.public)
    one, other = ours.sign(DATA, at=5).split("\n"), ours.sign(b"another", at=9).split("\n")
    assert "trusted comment" in refusal(DATA, "\n".join([*one[:2], *other[2:]]), ours.public)
    relabelled = base64.b64decode(one[1])
    packed = base64.b64encode(b"Ed" + relabelled[2:]).decode()
    assert "is not what the key" in refusal(DATA, "\n".join([one[0], packed, *one[2:]]), ours.public)
    assert "algorithm" in refusal(
        DATA, "\n".join([one[0], base64.b64encode(b"XX" + relabelled[2:]).decode(), *one[2:]]), ours.public
    )


@pytest.mark.parametrize(
    "text",
    ["", "RW", "x" * 56, KEY[:-1], KEY + "A", KEY.replace("RW", "RX", 1), f"{KEY}\n{KEY}", "é", "a\nb\nc"],
)
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(SignatureRefused, match=r"no public key|no base64|bytes, where"):
        read_public_key(text)


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (None, "is not signed"),
        ({"key": "other", "key_id": "22"}, "by the key 22"),
        ({"prehashed": False}, "older form"),
        ({"signed_at": 4}, "signed before that"),
    ],
)
def test_what_is_less_sure_than_what_is_there_is_refused(after: dict | None, words: str) -> None:
    before = SignedBy(key="k", key_id="11", prehashed=True, signed_at=5)
    with pytest.raises(SignatureRefused, match=words):
        refuse_downgrade("kit", before, None if after is None else replace(before, **after))
    refuse_downgrade("kit", before, replace(before, signed_at=5, comment="x"))
    refuse_downgrade("kit", replace(before, prehashed=False), replace(before, signed_at=6))
    refuse_downgrade("kit", None, None)


def test_without_the_library_nothing_is_taken_for_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    assert "needs the package cryptography" in refusal(DATA, signer().sign(DATA), signer().public)


@pytest.mark.skipif(shutil.which("minisign") is None, reason="minisign is not installed")
@pytest.mark.parametrize("flags", [(), ("-l",)])
def test_what_the_real_minisign_signs_is_verified(tmp_path: Path, flags: tuple[str, ...]) -> None:
    def run(*words: str) -> None:
        subprocess.run(["minisign", *words], cwd=tmp_path, check=True, input=b"\n\n", capture_output=True)

    (tmp_path / "x").write_bytes(DATA)
    run("-G", "-W", "-p", "k.pub", "-s", "k.key")
    run("-S", *flags, "-s", "k.key", "-m", "x")
    text = (tmp_path / "x.minisig").read_text()
    key = read_public_key((tmp_path / "k.pub").read_text()).text
    assert verify_signature(DATA, text, (key,), "x").prehashed is not bool(flags)
