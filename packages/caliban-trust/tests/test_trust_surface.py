"""The digest of a surface stands for every byte of every item, and for nothing else."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from caliban_trust import changes, project_root, trust_item, trust_surface

texts = st.text(max_size=12)
parts = st.tuples(
    st.sampled_from(("rules", "agent", "routes")), st.sampled_from("abc"), texts, st.binary(max_size=24)
)
contents = st.lists(parts, max_size=6, unique_by=lambda part: part[:3])


def surface(given):
    return trust_surface(trust_item(*part, shown="") for part in given)


@given(contents.filter(bool), st.data())
def test_any_changed_byte_of_any_item_changes_the_digest(items, data):
    index = data.draw(st.integers(0, len(items) - 1))
    kind, place, name, content = items[index]
    changed = bytearray(content or b"\0")
    at = data.draw(st.integers(0, len(changed) - 1))
    changed[at] ^= data.draw(st.integers(1, 255))
    other = [*items[:index], (kind, place, name, bytes(changed)), *items[index + 1 :]]
    assert surface(other).digest != surface(items).digest
    verbs = [change.verb for change in changes(surface(items).items, surface(other).items)]
    assert verbs == ["changed"]


@given(contents, parts)
def test_an_item_more_or_less_changes_the_digest_and_is_named(items, more):
    one, other = surface(items), surface([*items, more])
    assert one.digest != other.digest
    if more[:3] not in [item[:3] for item in items]:
        assert [change.verb for change in changes(one.items, other.items)] == ["added"]
        assert [change.verb for change in changes(other.items, one.items)] == ["removed"]


@given(contents, st.randoms())
def test_the_order_in_which_items_were_found_is_no_part_of_it(items, random):
    mixed = list(items)
    random.shuffle(mixed)
    assert surface(mixed) == surface(items)


@given(texts, texts, st.binary(max_size=8), st.integers(1, 5))
def test_what_belongs_to_a_name_never_passes_for_content(place, name, content, cut):
    moved = (name + content.decode("latin-1"))[:-cut] if content else name + "x"
    one = trust_item("k", place, name, content, shown="")
    other = trust_item("k", place, moved, content[-cut:], shown="")
    assert one.digest != other.digest or (name, content) == (moved, content[-cut:])


def test_words_for_a_person_are_no_part_of_the_digest():
    one, other = (trust_item("k", "p", "n", b"x", shown=shown) for shown in ("", "many words"))
    assert one.digest == other.digest
    assert len(one.digest) == hashlib.sha256().digest_size * 2


def test_lone_surrogates_of_file_names_have_a_digest():
    names = ["\udc80", "\udc81", "\ufffd"]
    assert len({trust_item("k", name, "", b"", shown="").digest for name in names}) == 3


def test_what_only_narrows_asks_for_nothing():
    narrows = trust_item("rules", "p", "permissions.deny", b"[]", shown="", grants=False)
    assert not trust_surface([narrows]).asks
    assert trust_surface([narrows, trust_item("rules", "p", "allow", b"[]", shown="")]).asks


def test_a_root_is_the_folder_behind_links_and_not_its_name(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "link").symlink_to("one")
    one = project_root(tmp_path / "one")
    assert project_root(tmp_path / "link") == one
    (tmp_path / "one").rename(tmp_path / "two")
    (tmp_path / "one").mkdir()
    two = project_root(tmp_path / "two")
    assert (two.inode, two.path) == (one.inode, str(tmp_path / "two"))
    assert project_root(tmp_path / "one") != one
