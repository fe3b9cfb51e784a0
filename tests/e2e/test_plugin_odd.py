"""Marketplaces and plugins as others write them: odd entries, manifests and attributes, lists that moved."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import plugin_kit as kit
import pytest
from command_kit import Cli


def market(name: str, *plugins: Any, **more: Any) -> dict[str, str]:
    table = {"name": name, "owner": {"name": "A"}, "plugins": list(plugins), **more}
    return {".claude-plugin/marketplace.json": json.dumps(table)}


def plain(name: str, version: str = "1.0.0", at: str = "") -> dict[str, str]:
    prefix = f"{at}/" if at else ""
    return {
        f"{prefix}.claude-plugin/plugin.json": json.dumps({"name": name, "version": version}),
        f"{prefix}skills/tidy/SKILL.md": kit.skill("tidy", f"Tidy {version}."),
    }


def rows(done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.out.splitlines()]


def test_an_entry_that_says_nonsense_costs_no_other(cli: Cli, tmp_path: Path) -> None:
    entries = (
        {"name": "good", "source": "./plugins/good"},
        {"name": "short", "source": "short"},
        {"name": "MyPlugin", "source": "./plugins/x"},
        {"source": "./plugins/nameless"},
        "a text",
        {"name": "good", "source": "./plugins/other"},
        {"name": "new", "source": {"source": "teleport"}},
        {"name": "number", "source": "./plugins/good", "version": 1},
    )
    shop = kit.write(tmp_path / "shop", market("shop", *entries, metadata={"pluginRoot": "./plugins"}))
    kit.write(shop, plain("good", at="plugins/good") | plain("short", at="plugins/short"))
    added = cli.run("plugin", "marketplace", "add", str(shop))
    assert (added.code, added.err) == (0, ""), added.err
    listed = {
        row["name"]: row["problem"]
        for row in rows(cli.run("plugin", "marketplace", "list", "shop", "--json"))
    }
    assert [name for name, problem in listed.items() if problem is None] == ["good", "short"]
    for name, words in {
        "MyPlugin": "`name` must be",
        "plugins[3]": "`name` is missing",
        "plugins[4]": "is no object",
        "plugins[5]": "good stands there before",
        "new": "'teleport'",
        "number": "`version` must be text",
    }.items():
        assert words in listed[name]
    for name in ("good", "short"):
        done = cli.run("plugin", "install", f"{name}@shop", "--yes")
        assert done.code == 0 and f"installed: {name}" in done.out, done.err


def test_a_manifest_may_mix_places_and_tables_and_what_stands_in_it_alone_costs_no_file(
    cli: Cli, tmp_path: Path
) -> None:

    manifest = {
        "name": "mix",
        "commands": {"about": {"source": "./README.md"}},
        "mcpServers": [
            "./more.json",
            {"inner": {"command": "a"}},
            {"mcpServers": {"whole": {"command": "b"}}},
        ],
        "hooks": ["./more-hooks.json", {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}],
    }
    folder = kit.write(
        tmp_path / "mix",
        {
            ".claude-plugin/plugin.json": json.dumps(manifest),
            "more.json": json.dumps({"mcpServers": {"outer": {"command": "c"}}}),
            "more-hooks.json": json.dumps(
                {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "false"}]}]}}
            ),
            "commands/greet.md": "---\ndescription: greets\n---\nGreet.\n",
        },
    )
    done = cli.run("plugin", "validate", str(folder))
    assert (done.code, done.err) == (0, ""), done.err
    for words in (
        "server mix:outer",
        "server mix:inner",
        "server mix:whole",
        "/mix:greet",
        '"true"',
        '"false"',
    ):
        assert words in done.out
    assert "commands that stand in the manifest itself are left out" in done.out


def test_what_a_server_of_a_plugin_needs_to_be_reached_is_shown_and_taken(cli: Cli, tmp_path: Path) -> None:
    """An address alone reaches no server whose client is registered, or whose headers a program prints."""
    tables = {
        "chat": {
            "type": "http",
            "url": "https://chat.example/mcp",
            "oauth": {"clientId": "1601", "callbackPort": 3118, "clientSecret": "s"},
        },
        "helped": {
            "url": "https://help.example/mcp",
            "headersHelper": "${CLAUDE_PLUGIN_ROOT}/headers.sh --for 'a b'",
            "colour": "red",
        },
        "off": {"command": "off", "disabled": True, "timeout": 90000},
        "wrong": {"url": "https://w.example/mcp", "oauth": {"callbackPort": "many"}},
    }
    folder = kit.write(tmp_path / "kit", plain("kit") | {".mcp.json": json.dumps({"mcpServers": tables})})
    done = cli.run("plugin", "install", "--dir", str(folder), "--yes")
    assert done.code == 0, done.err
    for words in (
        'logs in with {"callback_port": 3118, "client_id": "1601"}',
        "headers by: ${CALIBAN_PLUGIN_ROOT}/headers.sh --for 'a b'",
        "`oauth.clientSecret` of the server chat is not known here",
        "`colour` of the server helped is not known here",
        "`oauth` has a callback_port that is none",
    ):
        assert words in done.out, words
    listed = {row["name"]: row for row in rows(cli.run("mcp", "list", "--json"))}
    assert set(listed) == {"kit:chat", "kit:helped", "kit:off"}
    assert listed["kit:off"]["state"] == "disabled"
    assert "headers by: " in cli.run("mcp", "get", "kit:helped").out
    shown = cli.run("mcp", "get", "kit:chat").out
    assert '"client_id":"1601"' in shown and '"callback_port":3118' in shown
    config = '[mcp_servers."kit:off"]\ndisabled = false\n'
    (cli.home / ".config" / "caliban").mkdir(parents=True, exist_ok=True)
    (cli.home / ".config" / "caliban" / "settings.toml").write_text(config)
    listed = {row["name"]: row for row in rows(cli.run("mcp", "list", "--json"))}
    assert listed["kit:off"]["state"] == ""


def test_git_gives_every_file_as_it_was_committed_and_pointers_are_named(cli: Cli, tmp_path: Path) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 123456\n"
    files = {
        ".gitattributes": "docs export-ignore\nnote.md export-subst\n*.bin filter=lfs\n",
        "docs/guide.md": "guide\n",
        "note.md": "at $Format:%H$\n",
        "model.bin": pointer,
    }
    repository = kit.write(tmp_path / "kit", plain("kit") | files)
    kit.commit(repository)
    done = cli.run("plugin", "install", "--git", str(repository), "--yes")
    assert done.code == 0, done.err
    assert "model.bin is a pointer of git LFS" in done.out
    (tree,) = (cli.home / ".local/share/caliban/plugins/trees/kit").iterdir()
    for name, text in files.items():
        assert (tree / name).read_text() == text


def test_validate_reads_every_part_as_a_run_does(cli: Cli, tmp_path: Path) -> None:
    folder = kit.write(
        tmp_path / "kit",
        plain("kit")
        | {
            "agents/README.md": "# ours\n",
            "skills/bare/SKILL.md": "no front matter\n",
            "output-styles/bare.md": "none either\n",
        },
    )
    done = cli.run("plugin", "validate", str(folder))
    assert done.code == 1
    for words in ("agents/README.md is left out", "a skill is left out", "an output style is left out"):
        assert words in done.err
    shown = cli.run("plugin", "install", "--dir", str(folder), "--yes").out
    assert "the agent in kit/agents/README.md is left out" in shown  # before anybody agrees


def test_a_list_that_was_rewritten_renamed_or_taken_away_is_told_with_the_way_on(
    cli: Cli, tmp_path: Path
) -> None:
    shop = kit.write(tmp_path / "shop", plain("alpha", at="alpha") | plain("other", at="other"))
    kit.write(
        shop, market("mono", {"name": "alpha", "source": "./alpha"}, {"name": "other", "source": "./other"})
    )
    kit.commit(shop)
    bare = tmp_path / "mono.git"
    kit.git(tmp_path, "clone", "-q", "--bare", str(shop), str(bare))

    def push(message: str) -> None:
        kit.git(shop, "add", "-A")
        kit.git(shop, "commit", "-q", "--amend", "-m", message)
        kit.git(shop, "push", "-q", "-f", str(bare), "main")
        kit.git(bare, "reflog", "expire", "--expire=now", "--all")
        kit.git(bare, "gc", "-q", "--prune=now")

    assert cli.run("plugin", "marketplace", "add", str(bare)).code == 0
    assert cli.run("plugin", "install", "alpha@mono", "--yes").code == 0
    assert "hint: caliban plugin install other@mono" in cli.run("plugin", "install", "other").err

    kit.write(shop, plain("other", "2.0.0", at="other"))
    push("the commit of the list is gone")
    done = cli.run("plugin", "install", "other@mono", "--yes")
    assert done.code == 1 and "hint: caliban plugin marketplace update mono reads its list again" in done.err

    kit.write(
        shop, market("mono", {"name": "beta", "source": "./alpha"}, {"name": "other", "source": "./other"})
    )
    push("alpha is called beta")
    done = cli.run("plugin", "update", "alpha", "--yes")
    assert done.code == 1 and "the version that you have stays" in done.err
    assert "marketplace list mono" in done.err or "did you mean" in done.err

    kit.write(shop, market("poly", {"name": "other", "source": "./other"}))
    push("the list is called poly")
    done = cli.run("plugin", "marketplace", "update")
    assert done.code == 1 and "calls itself poly now" in done.err
    assert f"hint: caliban plugin marketplace add {bare}" in done.err

    second = kit.write(tmp_path / "second", market("second", {"name": "x", "source": "./x"}))
    assert cli.run("plugin", "marketplace", "add", str(second)).code == 0
    shutil.rmtree(bare)
    done = cli.run("plugin", "marketplace", "update")
    assert done.code == 1 and "mono: " in done.err and done.out == "second: 1 plugin\n"


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("./here", "a folder goes by --dir: caliban plugin install --dir ./here"),
        ("./nowhere", "there is no folder ./nowhere"),
        ("owner/name", "caliban plugin install --git owner/name"),
        ("https://x.example/kit.tar.gz", "caliban plugin install --archive https://x.example/kit.tar.gz"),
        ("kit", "caliban plugin marketplace add PLACE adds a list of plugins"),
    ],
)
def test_what_is_no_name_of_a_list_is_answered_with_how_it_is_said(cli: Cli, spec: str, hint: str) -> None:
    (cli.work / "here").mkdir()
    done = cli.run("plugin", "install", spec)
    assert done.code == 64 and f"hint: {hint}" in done.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("plugin", "uninstall", "x"), "remove"),
        (("plugin", "add", "x"), "install"),
        (("plugin", "new", "x"), "init"),
        (("plugin", "search", "x"), "marketplace"),
        (("plugin", "marketplace", "rm", "x"), "remove"),
        (("mcp", "test", "x"), "doctor"),
        (("mcp", "status"), "doctor"),
        (("mcp", "auth", "x"), "login"),
        (("mcp", "install", "x"), "add"),
    ],
)
def test_the_words_of_other_programs_are_answered_with_ours(
    cli: Cli, words: tuple[str, ...], meant: str
) -> None:
    done = cli.run(*words)
    assert done.code == 64 and f"hint: did you mean {meant}?" in done.err


def test_the_folder_that_fills_a_plugin_is_named_and_no_folder_of_ours(cli: Cli, tmp_path: Path) -> None:
    folder = kit.write(tmp_path / "kit", plain("kit"))
    modules = folder / "node_modules" / "x"
    modules.mkdir(parents=True)
    for number in range(5000):
        (modules / f"{number}").touch()
    done = cli.run("plugin", "install", "--dir", str(folder), "--yes")
    assert done.code == 1 and "most of them in 'node_modules'" in done.err
    shutil.rmtree(folder / "node_modules")
    kit.write(folder, {".claude-plugin/plugin.json": json.dumps({"name": "Kit"})})
    done = cli.run("plugin", "install", "--dir", str(folder), "--yes")
    assert done.code == 1 and ".claude-plugin/plugin.json: `name` must be" in done.err
    assert ".staging" not in done.err


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("fatal: could not read Username for 'https://x': terminal prompts disabled", "reached by ssh"),
        ("git@x: Permission denied (publickey).", "ssh-add"),
        ("Host key verification failed.", "connect once by hand"),
        ("fatal: couldn't find remote ref v9", "no branch and no tag"),
        ("fatal: Could not resolve host: x", "check the name of the host"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="a git that is a script of the shell")
def test_what_git_says_is_answered_with_a_way_on(cli: Cli, tmp_path: Path, said: str, hint: str) -> None:
    script = f'#!/bin/sh\ncase "$*" in *" init "*) exit;; esac\necho "{said}" >&2\nexit 128\n'
    folder = kit.write(tmp_path / "bin", {"git.sh": script})
    (folder / "git.sh").rename(folder / "git")
    store = cli.work / "kit"
    kit.write(store, plain("kit"))
    done = cli.run("plugin", "install", "--git", "./kit", "--yes", env={"PATH": str(folder)})
    assert done.code == 1 and said in done.err and hint in done.err, done.err


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_words_for_agents_may_be_links_and_nothing_else(cli: Cli, tmp_path: Path) -> None:
    """Repositories have AGENTS.md as a link to CLAUDE.md: no part of a plugin reads either."""
    repository = kit.write(tmp_path / "kit", plain("kit") | {"CLAUDE.md": "ours\n"})
    (repository / "AGENTS.md").symlink_to("CLAUDE.md")
    (repository / "GEMINI.md").symlink_to("/etc/passwd")
    kit.commit(repository)
    packed = tmp_path / "kit.tar.gz"
    kit.git(repository, "archive", "--format=tar.gz", "--prefix=kit-1.0/", f"--output={packed}", "HEAD")
    for how in (("--git", str(repository)), ("--dir", str(repository)), ("--archive", str(packed))):
        done = cli.run("plugin", "install", *how, "--yes")
        assert done.code == 0, done.err
        (tree,) = (cli.home / ".local/share/caliban/plugins/trees/kit").iterdir()
        assert sorted(path.name for path in tree.glob("*.md")) == ["CLAUDE.md"]
    (repository / "skills" / "AGENTS.md").symlink_to("tidy/SKILL.md")
    kit.commit(repository)
    kit.git(repository, "archive", "--format=tar.gz", "--prefix=kit-1.0/", f"--output={packed}", "HEAD")
    for how in (("--git", str(repository)), ("--dir", str(repository)), ("--archive", str(packed))):
        done = cli.run("plugin", "install", *how, "--yes")
        assert done.code == 1 and "is a link" in done.err


def test_a_web_page_in_the_place_of_a_file_is_called_one(cli: Cli, tmp_path: Path) -> None:
    page = "\n<!DOCTYPE html><html><title>kit/marketplace.json</title></html>\n"
    kit.write(tmp_path, {"shop/marketplace.json": page, "kit.tar.gz": page})
    for words, what in (
        (("marketplace", "add", str(tmp_path / "shop")), "no JSON"),
        (("install", "--archive", str(tmp_path / "kit.tar.gz"), "--yes"), "no archive"),
    ):
        done = cli.run("plugin", *words)
        assert done.code == 1 and f"is a web page, and {what}" in done.err
        assert "hint: name the repository, or the address of the file itself" in done.err
