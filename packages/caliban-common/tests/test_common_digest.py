"""The digests are those of `hashlib`, and come without it."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from caliban_common import digest


@pytest.mark.parametrize("data", [b"", b"abc", bytes(range(256)) * 1000])
def test_they_are_those_of_the_library(data: bytes) -> None:
    assert digest.sha256(data).hexdigest() == hashlib.sha256(data).hexdigest()
    assert digest.blake2b(data, digest_size=16).digest() == hashlib.blake2b(data, digest_size=16).digest()


def test_nothing_is_loaded_before_the_first_and_the_library_never() -> None:
    code = (
        "import sys; from caliban_common import digest\n"
        "print(*({'hashlib', '_hashlib', '_blake2', '_sha2', '_sha256'} & set(sys.modules)), sep=',')\n"
        "digest.sha256(b''), digest.blake2b(b'', digest_size=8)\n"
        "print({'hashlib', '_hashlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["", "set()"]


def test_an_interpreter_without_its_own_takes_the_library() -> None:
    code = (
        "import sys; sys.modules.update(_sha2=None, _sha256=None)\n"
        "from caliban_common.digest import sha256\n"
        "print(sha256(b'abc').hexdigest()[:8], '_hashlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["ba7816bf", "True"], done.stderr
