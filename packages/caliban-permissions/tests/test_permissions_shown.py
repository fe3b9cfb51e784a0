"""What searches may show: a canonical path is judged alike whether it is looked up or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_permissions import Engine, RuleSet, parse_rules
from caliban_permissions.rules.glob import PathGlob, compile_path

RULES = {
    "permissions": {
        "allow": ["Read"],
        "deny": ["Read:.env", "Read:secret/**", "Read:/**/keys/*.pem", "Read:plain"],
    }
}
PATHS = (
    "a", ".env", "sub/.env", "sub/.ENV", "secret/a", "secretive/a", "keys/a.pem", "sub/keys/b.pem", "plain",
    "sub/plain/x", "sub/x", "o\u200bdd", "\uff0eenv", "a$b", "line\nbreak", "\udcff",
)  # fmt: skip

DENIED = (".env", "sub/.env", "sub/.ENV", "secret/a", "keys/a.pem", "sub/keys/b.pem", "plain", "sub/plain/x")


@pytest.mark.parametrize("path", PATHS)
def test_a_canonical_path_needs_no_look_at_the_disk(tmp_path: Path, path: str) -> None:
    rules = RuleSet(user=parse_rules(RULES["permissions"], source="user"))
    engine = Engine(rules, mode="default", workspace=tmp_path, interactive=False)
    whole = f"{tmp_path}/{path}"
    Path(whole).parent.mkdir(parents=True, exist_ok=True)
    Path(whole).write_text("x")
    looked_up = engine.may_read(whole)
    assert engine.may_read(whole, canonical=True) == looked_up
    assert looked_up == (path not in DENIED)


def slowly_covers(glob: PathGlob, parts: tuple[str, ...]) -> bool:
    """Whether the path, or a parent of it, matches: by trying each."""
    if not glob.components or glob.matches(parts):
        return True
    last = glob.components[-1]
    if last is None:
        return PathGlob(glob.components[:-1]).matches(parts)
    return last.exact and any(glob.matches(parts[:size]) for size in range(1, len(parts)))


COMPONENTS = st.lists(st.sampled_from(["**", "a", "b", "*", "a*", "?", "\\*"]), max_size=4).map(tuple)
PARTS = st.lists(st.sampled_from(["a", "b", "ab", "*"]), max_size=5).map(tuple)


@given(COMPONENTS, PARTS)
def test_a_glob_that_ends_in_a_name_covers_what_it_always_did(pattern, parts) -> None:
    glob = compile_path(pattern)
    assert glob.covers(parts) == slowly_covers(glob, parts)
