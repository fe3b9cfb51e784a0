"""Which variables of ours a program is given: names one by one, and families of names as a whole."""

from __future__ import annotations

import pytest

from caliban_process.environ import program_environment, shell_environment

PASSED = (
    *("HOME", "LC_ALL", "no_proxy", "https_proxy", "http_proxy", "ALL_PROXY", "XDG_DATA_HOME", "DISPLAY"),
    *("PROGRAMFILES(X86)", "ALLUSERSPROFILE", "COMMONPROGRAMFILES", "SSL_CERT_FILE", "OS"),
)
KEPT = (
    *("no", "all", "http", "NO", "proxy", "_proxy", "XDG_", "LC_", "LC_all", "PROGRAMFILES(X86", "X86"),
    *("HOME2", "home", "HOM", "", "CI", "GOPATH", "(https?", "PATHEXT ", "PUBLIC\n"),
)


@pytest.mark.parametrize("name", PASSED)
def test_what_is_on_the_list_is_passed(name: str) -> None:
    assert program_environment({name: "x"}, {})[name] == "x"


@pytest.mark.parametrize("name", KEPT)
def test_a_piece_of_the_list_is_no_name(name: str) -> None:
    assert name not in program_environment({name: "x"}, {})


def test_commands_get_the_names_of_tools_for_building() -> None:
    host = {"XDG_CACHE_HOME": "/c", "XDG_RUNTIME_DIR": "/r", "CI": "1", "CONFIG": "x", "STATE": "x"}
    passed = shell_environment(host, {}, strict=True)
    assert {"XDG_CACHE_HOME", "CI"} <= passed.keys()
    assert passed.keys().isdisjoint({"XDG_RUNTIME_DIR", "CONFIG", "STATE"})
