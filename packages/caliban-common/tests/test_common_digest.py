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


def test_the_library_is_not_loaded_for_them() -> None:
    code = "import sys, caliban_common.digest; print('hashlib' in sys.modules, '_hashlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_an_interpreter_without_its_own_takes_the_library() -> None:
    code = (
        "import sys; sys.modules.update(_sha2=None, _sha256=None)\n"
        "from caliban_common.digest import sha256; import _hashlib\n"
        "print(sha256(b'abc').hexdigest()[:8], sha256 is _hashlib.openssl_sha256)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["ba7816bf", "True"], done.stderr
