"""Manifests and lists of every layout: read, or refused with file, member and what was expected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.errors import CalibanError
from caliban_plugins import ManifestRefused, MarketplaceRefused, SourceFailed, read_market, read_plugin
from caliban_plugins.capability import capabilities, capability_changes
from caliban_plugins.manifest import SCHEMA
from caliban_plugins.servers import PORTABLE_SCHEMA
from caliban_plugins.source import PluginSource, git_source
from caliban_plugins.table import JsonTable, read_table
from caliban_plugins.tree import read_tree

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = (
    "name",
    "version",
    "description",
    "author",
    "components",
    "caliban",
    "mcpServers",
    "hooks",
    "commands",
    "agents",
    "skills",
    "outputStyles",
    "themes",
    "$schema",
    "keywords",
    "extensions",
    "plugins",
    "source",
    "metadata",
    "versions",
    "sha256",
    "tarball",
)


def put(root: Path, **files: Any) -> Path:
    for name, value in files.items():
        path = root / {"claude": ".claude-plugin/plugin.json", "plain": "plugin.json"}.get(name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
    return root


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no JSON"),
        ("[]", "must be an object, not a list"),
        ("{", "no JSON"),
        ('{"name": "a", "name": "b"}', "'name' stands twice"),
        ('{"name": NaN}', "NaN is no number"),
        ("{}", "`name` is missing"),
        ('{"name": 3}', "`name` must be text, not a number"),
        ('{"name": "A b"}', "`name` must be 1 to 64 of"),
        ('{"name": "../x"}', "`name` must be 1 to 64 of"),
        ('{"name": "a..b"}', "`name` must be 1 to 64 of"),
        ('{"name": "a", "version": 3}', "`version` must be text"),
        ('{"name": "a", "components": []}', "`components` must be an object"),
        ('{"name": "a", "components": {"skills": "/etc"}}', "`skills` must stay in the plugin"),
        ('{"name": "a", "skills": ["../x"]}', "`skills` must stay in the plugin"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_manifest_that_is_none_says_where_and_why(tmp_path: Path, text: str, words: str) -> None:
    for name in ("claude", "plain"):
        with pytest.raises(ManifestRefused) as caught:
            read_plugin(put(tmp_path / name, **{name: text}))
        assert words in caught.value.message
        assert "plugin.json" in caught.value.message


def test_a_folder_without_a_manifest_is_what_its_list_says(tmp_path: Path) -> None:
    put(tmp_path, **{"skills/a/SKILL.md": "x", "skills/b/SKILL.md": "x"})
    with pytest.raises(ManifestRefused, match="is no plugin"):
        read_plugin(tmp_path)
    plugin = read_plugin(tmp_path, given=JsonTable({"name": "p", "skills": ["./skills/b"]}, "list"))
    assert [skill.name for skill in plugin.skills] == ["b"]


def test_a_portable_manifest_is_closed_and_its_places_are_fixed(tmp_path: Path) -> None:
    about: dict[str, Any] = {"$schema": SCHEMA, "name": "a.b", "skills": "other", "extensions": 3}
    server = {"type": "stdio", "command": "./bin/x", "args": ["${PLUGIN_ROOT}/c", "${HOME}"]}
    put(
        tmp_path,
        plain=about,
        **{
            "skills/a/SKILL.md": "x",
            "commands/c.md": "x",
            "hooks/hooks.json": '{"hooks": {"Stop": []}}',
            ".mcp.json": '{"mcpServers": {"no": {"command": "x"}}}',
            "mcp.json": {
                "$schema": PORTABLE_SCHEMA,
                "mcpServers": {
                    "s": server,
                    "up": {"type": "stdio", "command": "./../x"},
                    "odd": {"zz": 1, "command": "x"},
                },
            },
        },
    )
    plugin = read_plugin(tmp_path)
    assert ([skill.name for skill in plugin.skills], plugin.hooks) == (["a"], {})
    (declared,) = plugin.servers
    assert (declared.full_name, declared.command) == ("a.b:s", f"{tmp_path}/bin/x")
    assert declared.args == (f"{tmp_path}/c", "${HOME}")
    assert len(plugin.problems) == 2
    assert any("`skills` is no member" in note for note in plugin.notes)
    for bad in ({"$schema": f"{SCHEMA}x"}, {"author": {"x": 1}}, {"author": "me"}, {"keywords": [1]}):
        with pytest.raises(ManifestRefused):
            read_plugin(put(tmp_path, plain={**about, **bad}))


def test_the_places_of_a_plugin_are_put_in_once_and_as_one_word(tmp_path: Path) -> None:
    root = tmp_path / 'a"; ${CLAUDE_PLUGIN_ROOT} b'
    put(
        root,
        plain={"name": "x", "mcpServers": {"s": {"command": "c", "args": ["--f=${CALIBAN_PLUGIN_ROOT}"]}}},
    )
    assert read_plugin(root).servers[0].args == (f"--f={root}",)


def test_two_manifests_must_have_one_name(tmp_path: Path) -> None:
    put(tmp_path, claude={"name": "a"}, plain={"name": "b"})
    with pytest.raises(ManifestRefused, match="`name` is not that of"):
        read_plugin(tmp_path)


@given(st.dictionaries(st.sampled_from(MEMBERS), JSON, max_size=6))
def test_any_json_is_a_manifest_or_refused(values: dict[str, Any]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for extra in ({}, {"name": "x"}, {"$schema": SCHEMA, "name": "x"}):
            try:
                plugin = read_plugin(put(Path(folder), plain={**values, **extra}))
                capabilities(plugin, read_tree(Path(folder)))
            except CalibanError:
                pass


@given(st.dictionaries(st.sampled_from(MEMBERS), JSON, max_size=6), st.binary(max_size=30))
def test_any_json_is_a_marketplace_or_refused(values: dict[str, Any], raw: bytes) -> None:
    base = PluginSource(kind="folder", at="/x")
    for table in (values, {"name": "x", "plugins": [{"name": "p", **values}]}):
        try:
            market = read_market(JsonTable(table, "m"), base)
        except CalibanError:
            continue
        assert all(entry.problem or entry.source is not None for entry in market.entries)
    try:
        read = read_table(raw, "m")
    except ManifestRefused:
        return
    assert isinstance(read.values, dict) and b"{" in raw  # few bytes make an object, and chance finds them


def market(**entry: Any):
    table = JsonTable({"name": "m", "plugins": [{"name": "p", **entry}]}, "m")
    return read_market(table, PluginSource(kind="git", at="https://h/r.git", commit="c"))


def test_entries_become_sources() -> None:
    def source(**entry: Any) -> PluginSource | None:
        return market(**entry).find("p").source

    assert source(source="./a") == PluginSource(kind="git", at="https://h/r.git", commit="c", inside="a")
    assert source(source={"source": "github", "repo": "o/n", "ref": "v1"}) == PluginSource(
        kind="git", at="https://github.com/o/n.git", ref="v1"
    )
    assert source(
        source={"source": "git-subdir", "url": "https://h/x.git", "path": "d", "sha": "a" * 40}
    ) == (PluginSource(kind="git", at="https://h/x.git", commit="a" * 40, inside="d"))
    assert source(source={"source": "npm", "package": "@a/x", "version": "^1.2"}) == PluginSource(
        kind="npm", at="@a/x", ref="^1.2"
    )
    digest = "b" * 64
    versions = [{"version": "1", "tarball": "https://h/1", "sha256": "c" * 64}]
    versions.append({"version": "2", "download_url": "https://h/2", "sha256": digest.upper()})
    assert source(versions=versions) == PluginSource(kind="archive", at="https://h/2", sha256=digest)
    for bad in (
        {"source": "../up"},
        {"source": {"source": "npm", "package": "x/y"}},
        {"source": {"source": "npm"}},
        {"source": {"source": "pip", "package": "x"}},
        {"source": {"source": "github", "repo": "-o/n"}},
        {"source": {"source": "url", "url": "file:///etc"}},
        {"source": {"source": "url", "url": "https://u:p@h/x"}},
        {"source": {"source": "url", "url": "https://h/x", "ref": "--upload-pack=x"}},
        {"versions": [{"tarball": "https://h/1"}]},
        {"download_url": "http://h/1", "sha256": digest},
        {"download_url": "https://h/1", "sha256": "xyz"},
        {"source": "./a", "sigstore": {}, "signature": "x"},
    ):
        with pytest.raises(MarketplaceRefused, match="cannot be had"):
            market(**bad).find("p")
    with pytest.raises(MarketplaceRefused, match="has no plugin"):
        market(source="./a").find("q")


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c x",
        "file:///x",
        "/etc",
        "--x",
        "-oProxyCommand=x@h:y",
        "http://h/x",
        "git://h/x",
        "https://h/a b",
        "",
        "https://h/\nx",
        "ssh://-oX/x y",
        "o/n/../x",
    ],
)
def test_git_is_given_no_other_transport_and_no_option(url: str) -> None:
    with pytest.raises(SourceFailed):
        git_source(url)


def test_what_is_different_is_told_part_by_part(tmp_path: Path) -> None:
    def parts(name: str, **files: Any):
        root = put(tmp_path / name, plain={"name": "x"}, **files)
        return capabilities(read_plugin(root), read_tree(root))

    server = {"mcpServers": {"s": {"command": "${PLUGIN_ROOT}/s"}}}
    old = parts("old", **{"commands/a.md": "one", "commands/b.md": "b", ".mcp.json": server, "r.sh": "x"})
    new = parts("new", **{"commands/a.md": "!`two`", "commands/c.md": "c", ".mcp.json": server, "r.sh": "y"})
    assert capability_changes(old, old) == ()
    assert [(one.verb, one.part.name, one.part.acts) for one in capability_changes(old, new)] == [
        ("changed", "/x:a", True),
        ("new", "/x:c", False),
        ("changed", "r.sh", False),
        ("gone", "/x:b", False),
    ]
