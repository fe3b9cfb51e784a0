"""Plugins by the real command: three public layouts install, work, update, go back, and leave nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import plugin_kit as kit
import pytest

from caliban_provider_anthropic.testing import wire

OK = wire.text("ok")


def ask(cli, *args: str, prompt: str = "hi", env=None):
    """A run and the body of its first request."""
    before = len(cli.server.requests)
    cli.script(wire.exchange(OK))
    done = cli.run("-p", prompt, *args, env=env)
    assert done.code == 0, done.err
    return done, cli.bodies()[before]


def names(cli) -> list[str]:
    return [json.loads(line)["name"] for line in cli.run("plugin", "list", "--json").out.splitlines()]


def tools(body) -> str:
    return json.dumps(body["tools"])


def said(body) -> str:
    return json.dumps(body["messages"])


def system(body) -> str:
    return "".join(block["text"] for block in body.get("system", []))


@contextmanager
def served(pages: Mapping[str, bytes]) -> Iterator[str]:
    """A server on the loopback with `pages`; its host and port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = pages.get(self.path)
            self.send_response(200 if data is not None else 404)
            self.send_header("content-length", str(len(data or b"")))
            self.end_headers()
            self.wfile.write(data or b"")

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_plugin_of_claude_from_a_git_marketplace_works_whole(cli, tmp_path):
    shop = kit.write(tmp_path / "shop", {f"plugins/kit/{name}": text for name, text in kit.claude().items()})
    kit.write(
        shop,
        {
            ".claude-plugin/marketplace.json": json.dumps(
                {
                    "name": "shop",
                    "owner": {"name": "x"},
                    "plugins": [{"name": "kit", "source": "./plugins/kit"}],
                }
            )
        },
    )
    first = kit.commit(shop)
    done = cli.run("plugin", "marketplace", "add", f"{shop}/.git")
    assert (done.code, "added: shop (1 plugin)" in done.out) == (0, True), done.err
    done = cli.run("plugin", "install", "kit@shop")
    assert (done.code, "no terminal to ask at" in done.err) == (1, True)
    assert first in done.out and "! hook UserPromptSubmit[0]" in done.out and "! server kit:db" in done.out
    assert "Speak tersely." in done.out and "theme kit:dark: colours of the terminal" in done.out
    assert names(cli) == []
    assert cli.run("plugin", "install", "kit@shop", "--yes").code == 0

    done, body = ask(cli, "--output-format", "stream-json", prompt="/kit:greet Ada")
    assert "Greet Ada as the first would." in said(body) and "the hook says first" in said(body)
    assert "Speak tersely." in system(body) and '<output-style name="kit:terse">' in system(body)
    assert "kit:tidy" in tools(body) and "kit:checker" in tools(body)
    (plugin,) = done.frames[0]["plugins"]
    assert (plugin["name"], plugin["version"], plugin["source"]) == ("kit", "1.0.0", "kit@shop")
    assert done.frames[0]["mcp_servers"] == [{"name": "kit:db", "status": "failed"}]  # its program is none
    assert "the MCP server kit:db is not there" in done.err
    assert "locked by its plugin in the place of default" in done.err

    cli.script(wire.exchange(wire.tool_use("Skill", {"name": "kit:tidy"})), wire.exchange(OK))
    assert cli.run("-p", "tidy").code == 0
    assert f"Tidy by {plugin['path']}/tidy.sh, first." in said(cli.bodies()[-1])

    kit.write(shop / "plugins" / "kit", kit.claude("2.0.0", word="second"))
    kit.commit(shop)
    done = cli.run("plugin", "update", "kit")
    assert (done.code, "different from version 1.0.0:" in done.out) == (1, True)
    assert "changed: command /kit:greet" in done.out and "changed: program hooks/say.sh" in done.out
    assert cli.run("plugin", "update", "kit", "--yes").code == 0
    assert "the hook says second" in said(ask(cli)[1])
    assert cli.run("plugin", "rollback", "kit").code == 0
    assert "the hook says first" in said(ask(cli)[1])

    assert cli.run("plugin", "remove", "kit").code == 0
    assert cli.run("plugin", "marketplace", "remove", "shop").code == 0
    assert kit.left_behind(cli.home) == []
    gone = cli.run("-p", "/kit:greet Ada")
    assert (gone.code, "there is no command /kit:greet" in gone.err) == (64, True)
    _, body = ask(cli)
    assert "kit:" not in tools(body) and "tersely" not in system(body)


def test_a_collection_of_skills_without_manifests_works(cli, tmp_path):
    shop = kit.write(tmp_path / "shop", kit.collection())
    assert cli.run("plugin", "marketplace", "add", str(shop)).code == 0
    assert cli.run("plugin", "install", "paper@many-skills", "--yes").code == 0
    _, body = ask(cli)
    assert "paper:fold" in tools(body) and "paper:cut" in tools(body) and "weld" not in tools(body)
    done, body = ask(cli, prompt="/paper:fold it")
    assert "Fold, first." in said(body), done.err
    kit.write(shop, kit.collection("second"))
    assert cli.run("plugin", "update", "--yes").code == 0
    assert "Fold, second." in said(ask(cli, prompt="/paper:fold")[1])
    assert cli.run("plugin", "rollback", "paper").code == 0
    assert "Fold, first." in said(ask(cli, prompt="/paper:fold")[1])
    assert cli.run("plugin", "marketplace", "remove", "many-skills").code == 1  # its plugin is still there
    assert cli.run("plugin", "remove", "paper@many-skills").code == 0
    assert cli.run("plugin", "marketplace", "remove", "many-skills").code == 0
    assert kit.left_behind(cli.home) == []


def test_a_portable_plugin_from_an_index_works_and_its_archive_is_pinned(cli):
    pages: dict[str, bytes] = {}
    with served(pages) as place:
        cli.configure(f'web_fetch_hosts = ["{place}"]\n')

        def offer(*versions: str, wrong: bool = False) -> None:
            rows = []
            for number, version in enumerate(versions):
                data = kit.tar_gz(kit.portable(version, word=f"word{number}"), top="acme.notes-x/")
                pages[f"/{version}.tar.gz"] = data
                digest = kit.sha(b"other") if wrong else kit.sha(data)
                rows.append(
                    {"version": version, "tarball": f"http://{place}/{version}.tar.gz", "sha256": digest}
                )
            index = {"name": "acme", "url": "u", "plugins": [{"name": "acme.notes", "versions": rows}]}
            pages["/index.json"] = json.dumps(index).encode()

        offer("0.1.0", wrong=True)
        done = cli.run("plugin", "install", f"acme.notes@http://{place}/index.json", "--yes")
        assert (done.code, "is not what it should be" in done.err) == (1, True)
        assert kit.left_behind(cli.home) == []
        offer("0.1.0")
        assert cli.run("plugin", "marketplace", "add", f"http://{place}/index.json").code == 0
        assert cli.run("plugin", "install", "acme.notes@acme", "--yes").code == 0
        done, body = ask(cli, prompt="/acme.notes:summarize")
        assert "Summarize, word0." in said(body)
        assert "acme.notes:n" in done.err  # nobody answers there
        offer("0.1.0", "0.2.0")
        assert cli.run("plugin", "update", "acme.notes", "--yes").code == 0
        assert "Summarize, word1." in said(ask(cli, prompt="/acme.notes:summarize")[1])
    done = cli.run("plugin", "update", "acme.notes")  # nobody answers now: what was read and kept is taken
    assert (done.code, "up to date" in done.out) == (0, True), done.err
    assert "what was read of it before is taken" in done.err
    assert cli.run("plugin", "rollback", "acme.notes").code == 0
    assert "Summarize, word0." in said(ask(cli, prompt="/acme.notes:summarize")[1])
    assert cli.run("plugin", "remove", "acme.notes").code == 0
    assert cli.run("plugin", "marketplace", "remove", "acme").code == 0
    assert kit.left_behind(cli.home) == []


def test_switches_scopes_and_flags_say_which_plugins_count(cli, tmp_path):
    folder = kit.write(tmp_path / "kit", kit.claude())
    assert cli.run("plugin", "install", "--dir", str(folder), "--yes", "--path", ".").code == 0

    def counts(*args: str, env=None) -> bool:
        return "kit:tidy" in tools(ask(cli, *args, env=env)[1])

    assert counts()
    for args, env in (
        (("--no-plugins",), None),
        (("--bare",), None),
        ((), {"CALIBAN_NO_PLUGINS": "1"}),
        ((), {"CALIBAN_ENABLED_PLUGINS": "other"}),
        (("--settings", '{"enabled_plugins": {"kit": false}}'), None),
        (("--settings", '{"plugins": {"enabled": []}}'), None),
    ):
        assert not counts(*args, env=env), args
    done, _ = ask(cli, env={"CALIBAN_ENABLED_PLUGINS": "other"})
    assert "the plugin other is to be enabled, and is not installed" in done.err
    assert "the hook says" not in said(ask(cli, "--no-hooks")[1])
    assert cli.run("plugin", "disable", "kit").code == cli.run("plugin", "disable", "kit").code == 0
    assert not counts()
    assert counts(env={"CALIBAN_ENABLED_PLUGINS": "kit"})
    assert cli.run("plugin", "enable", "kit", "--scope", "project").code == 0
    assert not counts() and counts("--trust-project")  # what a project says counts with trust alone
    assert "kit" in (cli.work / ".caliban" / "settings.toml").read_text()
    assert cli.run("plugin", "enable", "kit").code == 0


def test_a_folder_is_tried_without_being_installed_and_shadowing_is_told(cli, tmp_path):
    folder = kit.write(tmp_path / "dev" / "kit", kit.claude(word="dev"))
    done, body = ask(cli, "--plugin-dir", str(folder))
    assert "the hook says dev" in said(body) and "kit:tidy" in tools(body)
    assert kit.left_behind(cli.home) == []
    other = kit.write(tmp_path / "installed", kit.claude(word="installed"))
    assert cli.run("plugin", "install", "--dir", str(other), "--yes").code == 0
    done, body = ask(cli, "--plugin-dir", str(folder))
    assert "the hook says dev" in said(body) and "the hook says installed" not in said(body)
    assert "the user plugin kit is left out: that of the flag has its name" in done.err
    assert cli.run("-p", "hi", "--plugin-dir", str(tmp_path / "none")).code == 66
    assert cli.run("-p", "hi", "--plugin-dir", str(tmp_path)).code == 78


def test_what_is_wrong_with_one_part_costs_no_other(cli, tmp_path):
    folder = kit.write(tmp_path / "kit", kit.claude())
    kit.write(
        folder,
        {
            "hooks/hooks.json": json.dumps(
                {
                    "hooks": {
                        "Nonsense": [{"hooks": [{"type": "command", "command": "x"}]}],
                        "SessionStart": [{"hooks": [{"type": "command", "command": "echo started well"}]}],
                    }
                }
            ),
            "skills/bad/SKILL.md": "no front matter",
            "agents/bad.md": "---\nname: bad\n---\n",
            "output-styles/terse.md": "---\ndescription: terse\n---\nx\n",
            ".mcp.json": "[not json",
            "commands/empty.md": "",
        },
    )
    done = cli.run("plugin", "install", "--dir", str(folder), "--yes")
    assert (done.code, "`hooks.Nonsense`: there is no such event" in done.out) == (0, True)
    done, body = ask(cli)
    assert "started well" in json.dumps(body) and "kit:tidy" in tools(body) and "kit:bad" not in tools(body)
    for words in (
        "a hook of the plugin kit never runs",
        "a skill is left out",
        "servers of kit are left out",
    ):
        assert words in done.err, words
    done = cli.run("plugin", "validate", str(folder))
    assert (done.code, ".mcp.json" in done.err) == (1, True)


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("install", "justaname"), 64, "NAME@MARKETPLACE"),
        (("install", "--dir", "."), 1, "is no plugin"),
        (("install", "--dir", "/nowhere/at/all"), 1, "not a directory"),
        (("install", "--git", "--upload-pack=x"), 64, ""),
        (("install", "--git", "ext::sh -c x"), 1, "no address of a git repository"),
        (("install", "--archive", "http://example.com/x.tar.gz"), 1, "no https address"),
        (("install", "x@y", "--dir", "."), 64, "one plugin at a time"),
        (("install", "x@nowhere"), 1, "there is no marketplace nowhere"),
        (("info", "nope"), 1, "there is no plugin nope"),
        (("remove", "nope"), 1, "there is no plugin nope"),
        (("enable", "nope"), 1, "there is no plugin nope"),
        (("rollback", "nope"), 1, "there is no plugin nope"),
        (("frobnicate",), 64, "frobnicate"),
        (("init", "Bad Name"), 1, "no name for a plugin"),
        (("marketplace", "add"), 64, "say which"),
        (("marketplace", "remove", "x"), 1, "there is no marketplace x"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
def test_what_makes_no_sense_is_refused_in_words(cli, words, code, expected):
    done = cli.run("plugin", *words)
    assert (done.code, expected in done.err) == (code, True), done.err
    assert kit.left_behind(cli.home) == []


def test_a_new_plugin_is_valid_and_installs_without_a_question(cli):
    assert cli.run("plugin").out == "(no plugins)\n"
    assert "caliban plugin VERB --help" in cli.run("plugin", "help").out
    assert cli.run("plugin", "init", "fresh").code == 0
    assert cli.run("plugin", "init", "fresh").code == 1
    assert cli.run("plugin", "validate", "fresh").code == 0
    done = cli.run("plugin", "install", "--dir", "fresh")  # words alone: nothing in it acts by itself
    assert (done.code, "installed: fresh 0.1.0" in done.out) == (0, True), done.err
    assert cli.run("plugin", "info", "fresh").json["skills"] == ["fresh:example"]
    assert cli.run("plugin", "remove", "fresh").code == 0
    assert kit.left_behind(cli.home) == []
