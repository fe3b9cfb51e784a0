"""Addresses with a login in them: refused, and shown nowhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from caliban_plugins import SourceFailed
from caliban_plugins.source import archive_source, git_source, npm_source

SECRET = "hunter2"


@pytest.mark.parametrize("make", [git_source, archive_source, lambda url: npm_source("a", registry=url)])
@pytest.mark.parametrize(
    "url",
    [
        f"https://u:{SECRET}@evil.example/x.json",
        f"https://{SECRET}@evil.example/x",
        f"HTTPS://u:{SECRET}@evil.example",
        f"http://u:{SECRET}@evil.example/",
        f"ssh://git:{SECRET}@evil.example/x",
        f"https://u:{SECRET}@evil.example?x@y",
        f"https://u:{SECRET}@a@evil.example\\x",
    ],
)
def test_an_address_with_a_login_is_refused_without_a_word_of_it(
    make: Callable[[str], object], url: str
) -> None:
    with pytest.raises(SourceFailed, match="name or a password") as caught:
        make(url)
    assert SECRET not in str(caught.value) + (caught.value.hint or "")


def test_a_name_is_taken_where_ssh_wants_one() -> None:
    assert git_source("ssh://git@host.example/x").at == "ssh://git@host.example/x"
    assert git_source("git@host.example:x").at == "git@host.example:x"
    assert archive_source("https://host.example/x?mail=a@b").at.endswith("a@b")
