"""Whose the settings of a policy are on Windows: security descriptors as that system writes them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_settings.acl import planted_reason
from caliban_settings.errors import SettingsError
from caliban_settings.source import refuse_foreign_policy

SYSTEM = "(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)"
READERS = "(A;OICIID;0x1200a9;;;BU)"
MAKERS = "(A;CIID;DCLCRPCR;;;BU)"
"""What everything below ProgramData inherits: users may make files in it."""
USER = "S-1-5-21-1004336348-1177238915-682003330-1001"


def reason(descriptor: str) -> str | None:
    return planted_reason(Path("settings.toml"), lambda path: descriptor)


@pytest.mark.parametrize(
    "descriptor",
    [
        f"O:BAG:SYD:AI{SYSTEM}{READERS}",
        f"O:SYG:SYD:PAI{SYSTEM}",
        f"O:BAD:{SYSTEM}(A;OICIIO;GA;;;CO){READERS}S:AI(AU;SA;FA;;;WD)",
        f"O:BAD:{SYSTEM}(D;;FA;;;BU)",
        f"O:BAD:{SYSTEM}(A;OICIIO;GA;;;BU)",
    ],
)
def test_what_only_administrators_may_write_is_theirs(descriptor: str) -> None:
    assert reason(descriptor) is None


@pytest.mark.parametrize(
    ("descriptor", "words"),
    [
        pytest.param(f"O:{USER}G:BUD:AI{SYSTEM}", "belongs to another user", id="s445-owner"),
        pytest.param(f"O:BAG:SYD:AI{SYSTEM}{READERS}{MAKERS}", "by others (BU)", id="s445-makers"),
        (f"O:BUD:{SYSTEM}", "belongs to another user (BU)"),
        (f"O:BAD:{SYSTEM}(A;;FA;;;WD)", "by others (WD)"),
        (f"O:BAD:{SYSTEM}(A;;0x1301bf;;;AU)", "by others (AU)"),
        (f"O:BAD:{SYSTEM}(A;ID;GRGWGX;;;{USER})", "by others (S-1-5-21-"),
        (f"O:BAD:{SYSTEM}(A;;SD;;;BU)", "by others (BU)"),
        (f"O:BAD:{SYSTEM}(A;;0xzz;;;BU)", "by others (BU)"),
        (f'O:BAD:{SYSTEM}(XA;;FW;;;BU;(WIN://SYSAPPID Contains "x"))', "not understood"),
        ("O:BAG:SY", "no access list"),
        ("O:BAD:NO_ACCESS_CONTROL", "no access list"),
        (f"G:SYD:{SYSTEM}", "not understood"),
        (f"O:BAD:{SYSTEM}(A;;FA", "not understood"),
        ("", "not understood"),
    ],
)
def test_what_anybody_else_could_have_written_is_nobodys(descriptor: str, words: str) -> None:
    assert words in str(reason(descriptor))


@given(st.text(alphabet="OGDS:();AFWRXBUSYID0123456789-x", max_size=60))
def test_no_text_is_taken_for_an_administrators_but_one_with_their_names(text: str) -> None:
    if reason(text) is None:
        assert text.strip().startswith(("O:BA", "O:SY", "O:LA", "O:S-1-5-"))


def test_where_it_cannot_be_looked_at_nothing_starts(tmp_path: Path) -> None:
    path = tmp_path / "managed-settings.toml"
    refuse_foreign_policy(path, planted_reason)  # it is not there
    path.write_text("")
    with pytest.raises(SettingsError, match="who may write it is not known"):
        refuse_foreign_policy(path, planted_reason)  # this is no Windows
    with pytest.raises(SettingsError, match="nothing starts without them"):
        refuse_foreign_policy(path, partial(planted_reason, read=lambda path: f"O:{USER}D:{SYSTEM}"))
