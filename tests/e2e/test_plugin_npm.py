"""Plugins from npm by the real command and the real npm, against a registry on the loopback."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping

import plugin_kit as kit
import pytest
from command_kit import Cli
from sign_kit import signer
from test_plugins import ask, names, said, served

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
NAME = "@acme/kit"
PROMPT = "/kit:greet Ada"


def packed(version: str, *, word: str, top: str = "package/", more: Mapping[str, str] | None = None) -> bytes:
    """A tarball as npm makes them, whose scripts would leave a file where they were run."""
    hooks = ("preinstall", "install", "postinstall", "prepare", "prepack", "postpack", "prepublish")
    about = {"name": NAME, "version": version, "scripts": dict.fromkeys(hooks, "touch $HOME/ran")}
    files = {"package.json": json.dumps(about), **kit.claude(version, word=word), **(more or {})}
    return kit.tar_gz(files, top=top)


class Registry:
    """What npm is told of one package, and the list that offers it."""

    def __init__(self, cli: Cli, pages: dict[str, bytes], place: str) -> None:
        self.cli, self.pages, self.place = cli, pages, place
        self.url = f"http://{place}/"
        self.versions: dict[str, dict] = {}

    def publish(self, version: str, data: bytes, *, host: str = "", digest: str = "") -> None:
        path = f"/{NAME}/-/kit-{version}.tgz"
        self.pages[path] = data
        integrity = digest or f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"
        dist = {"tarball": f"http://{host or self.place}{path}", "integrity": integrity}
        self.versions[version] = {"name": NAME, "version": version, "dist": dist}
        packument = {"name": NAME, "dist-tags": {"latest": version}, "versions": self.versions}
        self.pages["/@acme%2fkit"] = json.dumps(packument).encode()

    def offer(self, **facts: str) -> None:
        source = {"source": "npm", "package": NAME, "registry": self.url, **facts}
        index = {"name": "shop", "plugins": [{"name": "kit", "source": source}]}
        kit.write(self.cli.work, {"shop/marketplace.json": json.dumps(index)})

    def refused(self, words: str, *args: str, may_be_npm: bool = False) -> None:
        """It is refused in these words; some versions of npm look into a tarball first."""
        done = self.cli.run("plugin", *(args or ("install", "kit@shop", "--yes")))
        fits = words in done.err or (may_be_npm and "npm pack failed" in done.err)
        assert (done.code, fits) == (1, True), done.err
        assert not (self.cli.home / "ran").exists()


@pytest.fixture
def registry(cli: Cli) -> Iterator[Registry]:
    pages: dict[str, bytes] = {}
    with served(pages) as place:
        cli.configure(f'web_fetch_hosts = ["{place}"]\n')
        registry = Registry(cli, pages, place)
        registry.offer()
        assert cli.run("plugin", "marketplace", "add", "./shop").code == 0
        yield registry


@needs_npm
def test_a_package_installs_updates_and_goes_back_without_anything_of_it_run(cli: Cli, registry: Registry):
    registry.publish("1.0.0", packed("1.0.0", word="first"))
    before = set(cli.home.rglob("*"))
    done = cli.run("plugin", "install", "kit@shop", "--yes")
    assert (done.code, f"package   {NAME}@1.0.0" in done.out) == (0, True), done.err
    assert not (cli.home / "ran").exists()
    assert {path for path in set(cli.home.rglob("*")) - before if "plugins" not in path.parts} <= {
        cli.home / ".local",
        cli.home / ".local" / "share",
        cli.home / ".local" / "share" / "caliban",
    }
    info = cli.run("plugin", "info", "kit").json
    integrity = registry.versions["1.0.0"]["dist"]["integrity"]
    assert (info["package"], info["integrity"]) == (f"{NAME}@1.0.0", integrity)
    assert "Greet Ada as the first would." in said(ask(cli, prompt=PROMPT)[1])

    registry.publish("1.0.0", packed("1.0.0", word="evil"))
    registry.refused("no version of a package ever changes", "update", "kit", "--yes")
    registry.publish("1.1.0", packed("1.1.0", word="second"))
    assert cli.run("plugin", "update", "kit", "--yes").code == 0
    assert "as the second would" in said(ask(cli, prompt=PROMPT)[1])
    registry.publish("2.0.0", packed("2.0.0", word="third"))
    registry.offer(version="^1.0.0")
    assert "up to date" in cli.run("plugin", "update", "kit", "--yes").out
    registry.pages.clear()
    registry.refused("npm pack failed", "update", "kit", "--yes")
    assert cli.run("plugin", "rollback", "kit").code == 0
    assert "as the first would" in said(ask(cli, prompt=PROMPT)[1])
    assert cli.run("plugin", "remove", "kit").code == 0
    assert cli.run("plugin", "marketplace", "remove", "shop").code == 0
    assert kit.left_behind(cli.home) == []


@needs_npm
def test_hostile_packages_and_registries_bring_nothing(cli: Cli, registry: Registry):
    good = packed("1.0.0", word="first")
    for words, data in {
        "leads elsewhere": packed("1.0.0", word="x", more={"../../../../evil": "x"}),
        "is a link": _with(link="/etc/passwd"),
        "unpacks to more than": kit.bomb(200 << 20),
        "is damaged": good[:-200],
        "what came calls itself": kit.tar_gz(
            {"package.json": '{"name": "other", "version": "1.0.0"}'}, top="p/"
        ),
        "is missing": kit.tar_gz({"package.json": '{"name": "@acme/kit"}'}, top="p/"),
        "package.json": kit.tar_gz(kit.claude(), top="package/"),
    }.items():
        registry.publish("1.0.0", data)
        registry.refused(words, may_be_npm=True)
    registry.publish("1.0.0", good, digest="sha512-" + base64.b64encode(bytes(64)).decode())
    registry.refused("EINTEGRITY")
    with served({}) as elsewhere:  # the tarball is asked of the registry, whatever its word is
        registry.publish("1.0.0", good, host=elsewhere)
        assert cli.run("plugin", "install", "kit@shop", "--yes").code == 0
    assert cli.run("plugin", "remove", "kit").code == 0
    registry.publish("1.0.1", packed("1.0.0", word="x"))
    registry.offer(version="1.0.1")
    registry.refused("what came is version 1.0.0")
    data = packed("1.0.2", word="signed")
    registry.publish("1.0.2", data)
    registry.offer(version="1.0.2", signature=signer().sign(data))
    registry.refused("no key is pinned")
    assert cli.run("plugin", "install", "kit@shop", "--yes", "--key", signer().public).code == 0
    registry.refused("what is pinned is 0202", "install", "kit@shop", "--yes", "--key", signer(2).public)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"package": "../x"}, "no name of a package"),
        ({"package": "git+ssh://x/y"}, "no name of a package"),
        ({"package": "owner/repo"}, "no name of a package"),
        ({"package": "kit.tgz"}, "no name of a package"),
        ({"package": "--ignore-scripts=false"}, "no name of a package"),
        ({"package": "a@npm:b"}, "no name of a package"),
        ({"package": "a" * 215}, "no name of a package"),
        ({"version": "file:/etc"}, "no version"),
        ({"version": "git+https://x/y"}, "no version"),
        ({"version": "1.0.0 || 2.0.0"}, "no version"),
        ({"version": "npm:other@1"}, "no version"),
        ({"registry": "http://example.com/"}, "no https address"),
        ({"registry": "https://me:secret@example.com/"}, "a name or a password"),
        ({"registry": "file:///etc"}, "no https address"),
        ({"registry": "http://127.0.0.1:9/"}, "cannot be fetched"),
        ({"registry": "https://169.254.169.254/"}, "cannot be fetched"),
    ],
    ids=lambda value: "-".join(value.values())[:30] if isinstance(value, dict) else None,
)
def test_what_is_no_package_or_no_registry_is_never_given_to_npm(cli: Cli, facts, words):
    index = {
        "name": "shop",
        "plugins": [{"name": "kit", "source": {"source": "npm", "package": "x", **facts}}],
    }
    shop = kit.write(cli.work / "shop", {"marketplace.json": json.dumps(index)})
    program = kit.write(cli.home / "bin", {"npm": "#!/bin/sh\ntouch $HOME/ran\n"}) / "npm"
    program.chmod(0o755)
    done = cli.run(
        "plugin", "install", f"kit@{shop}", "--yes", env={"PATH": f"{program.parent}:/usr/bin:/bin"}
    )
    assert (done.code, words in done.err) == (1, True), done.err
    assert not (cli.home / "ran").exists()


def test_without_npm_or_with_one_that_lies_nothing_is_installed(cli: Cli):
    index = {"name": "shop", "plugins": [{"name": "kit", "source": {"source": "npm", "package": "kit"}}]}
    shop = kit.write(cli.work / "shop", {"marketplace.json": json.dumps(index)})
    place = cli.home / "bin"
    each = "for word; do case $word in --pack-destination=*) {};; esac; done"
    for program, words in {
        None: "npm is not installed",
        "exit 0": "npm has left 0 files",
        'echo \'{"error": {"code": "E1", "summary": "no such thing"}}\'; exit 1': "E1 no such thing",
        each.format("touch ${word#*=}/a ${word#*=}/b"): "npm has left 2 files",
        each.format("ln -s /etc/passwd ${word#*=}/a"): "link",
    }.items():
        if program is not None:
            kit.write(place, {"npm": f"#!/bin/sh\n{program}\n"})
            (place / "npm").chmod(0o755)
        path = "relative:/nowhere" if program is None else f"{place}:/usr/bin:/bin"
        done = cli.run("plugin", "install", f"kit@{shop}", "--yes", env={"PATH": path})
        assert (done.code, words in done.err) == (1, True), done.err
    assert names(cli) == []
    assert kit.left_behind(cli.home) == []


def _with(*, link: str) -> bytes:
    import io
    import tarfile

    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        kit.add(tar, "package/package.json", b'{"name": "@acme/kit", "version": "1.0.0"}')
        kit.add(tar, "package/x", type=tarfile.SYMTYPE, linkname=link)
    return data.getvalue()
