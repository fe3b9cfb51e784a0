"""Signed plugins by the real command: a pinned key, what it signs, and everything that is less."""

from __future__ import annotations

import json
import os
from pathlib import Path

import plugin_kit as kit
import pytest
from command_kit import Cli
from sign_kit import signer
from terminal_kit import at_question
from test_plugins import ask, names, said, served

OURS, THEIRS = signer(1), signer(2)
PROMPT = "/acme.notes:summarize"


class Shop:
    """An index on the loopback, whose archives are signed as a test says."""

    def __init__(self, pages: dict[str, bytes], place: str) -> None:
        self.pages, self.place = pages, place
        self.index = f"http://{place}/index.json"

    def offer(self, version: str, *, by=OURS, beside: bool = False, more=None, row=None, **facts) -> None:
        data = kit.tar_gz(kit.portable(version, word=f"word{version}"))
        url = f"http://{self.place}/{version}.tar.gz"
        self.pages[f"/{version}.tar.gz"] = data
        entry = {"version": version, "tarball": url, "sha256": kit.sha(data)}
        if by is not None:
            text = by.sign(data, **facts)
            self.pages[f"/{version}.tar.gz.minisig"] = text.encode()
            entry["signature"] = f"{url}.minisig" if beside else text
        entry |= row or {}
        index = {"name": "acme", "plugins": [{"name": "acme.notes", "versions": [entry]}], **(more or {})}
        self.pages["/index.json"] = json.dumps(index).encode()


@pytest.fixture
def shop(cli: Cli):
    pages: dict[str, bytes] = {}
    with served(pages) as place:
        cli.configure(f'web_fetch_hosts = ["{place}"]\n')
        yield Shop(pages, place)


def refused(cli: Cli, words: str, *args: str) -> None:
    done = cli.run("plugin", *args)
    assert (done.code, words in done.err) == (1, True), done.err


def test_what_a_pinned_key_signs_installs_and_nothing_less_takes_its_place(cli: Cli, shop: Shop) -> None:
    shop.offer("0.1.0", at=5)
    assert cli.run("plugin", "marketplace", "add", shop.index).code == 0
    refused(cli, "no key is pinned", "install", "acme.notes@acme", "--yes")
    refused(cli, "no public key", "marketplace", "add", shop.index, "--key", "RWnonsense")
    done = cli.run("plugin", "marketplace", "add", shop.index, "--key", THEIRS.public)
    assert done.code == 0 and THEIRS.public in done.err
    refused(cli, "what is pinned is 0202", "install", "acme.notes@acme", "--yes")
    (cli.work / "our.pub").write_text(f"untrusted comment: x\n{OURS.public}\n")
    assert cli.run("plugin", "marketplace", "add", shop.index, "--key", "our.pub").code == 0
    done = cli.run("plugin", "install", "acme.notes@acme", "--yes")
    assert done.code == 0 and "signed    by minisign key 0101010101010101: timestamp:5" in done.out, done.err
    assert cli.run("plugin", "info", "acme.notes").json["signed_by"].startswith("minisign key 0101")
    (row,) = cli.run("plugin", "marketplace", "list", "--json").frames
    assert row["keys"] == [OURS.public]

    for words, offer in {
        "it is not signed, and the key 0101010101010101 is pinned": {"by": None},
        "what is pinned is 0101010101010101": {"by": THEIRS},
        "older form": {"prehashed": False, "at": 6},
        "was signed before that": {"at": 4},
        "signature is damaged": {"row": {"signature": "untrusted comment: x\n"}},
        "cannot be had": {"row": {"signature": f"http://{shop.place}/none.minisig"}},
        "neither a signature of minisign": {"row": {"signature": "RWQ..."}},
        "is signed (`sigstore`)": {"row": {"sigstore": {"x": 1}}},
    }.items():
        shop.offer("0.2.0", **offer)
        refused(cli, words, "update", "acme.notes", "--yes")
    evil = kit.tar_gz(kit.portable("0.2.1", word="evil"))
    shop.offer("0.2.1")
    shop.pages["/0.2.1.tar.gz"] = evil
    refused(cli, "is not what it should be", "update", "acme.notes", "--yes")
    shop.offer("0.2.1", row={"sha256": kit.sha(evil)})
    shop.pages["/0.2.1.tar.gz"] = evil
    refused(cli, "is not what the key 0101010101010101 has signed", "update", "acme.notes", "--yes")
    assert "Summarize, word0.1.0." in said(ask(cli, prompt=PROMPT)[1])

    shop.offer("0.3.0", at=7, beside=True, more={"public_key": THEIRS.public})
    done = cli.run("plugin", "update", "acme.notes", "--yes")
    assert (done.code, "is not the pinned one and does not count" in done.err) == (0, True), done.err
    assert "Summarize, word0.3.0." in said(ask(cli, prompt=PROMPT)[1])
    assert cli.run("plugin", "rollback", "acme.notes").code == 0
    assert cli.run("plugin", "remove", "acme.notes").code == 0
    assert cli.run("plugin", "marketplace", "remove", "acme").code == 0
    assert kit.left_behind(cli.home) == []


def test_keys_of_the_settings_count_before_all_others(cli: Cli, shop: Shop) -> None:
    settings = f"web_fetch_hosts = ['{shop.place}']\n[plugins.marketplaces.keys]\n"
    cli.configure(f"{settings}acme = ['nonsense']\n")
    shop.offer("0.1.0", more={"public_key": THEIRS.public})
    refused(cli, "no public key", "marketplace", "add", shop.index)
    cli.configure(f"{settings}acme = ['{OURS.public}']\n")
    refused(cli, "has other keys", "marketplace", "add", shop.index, "--key", THEIRS.public)
    done = cli.run("plugin", "marketplace", "add", shop.index)
    assert done.code == 0 and f"must be signed by the key {OURS.public}" in done.err
    assert "is not the pinned one and does not count" in done.err
    refused(cli, "has other keys", "install", "acme.notes@acme", "--yes", "--key", THEIRS.public)
    assert cli.run("plugin", "install", "acme.notes@acme", "--yes").code == 0
    shop.offer("0.2.0", by=None)
    refused(cli, "it is not signed, and the key 0101", "update", "acme.notes", "--yes")
    assert cli.run("plugin", "remove", "acme.notes").code == 0
    refused(cli, "it is not signed", "install", f"acme.notes@{shop.index}", "--yes")


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_key_that_a_list_brings_is_shown_and_asked_about(cli: Cli, shop: Shop, answer: str) -> None:
    shop.offer("0.1.0", more={"public_key": OURS.public})
    refused(cli, "nobody is here to agree", "marketplace", "add", shop.index)
    assert kit.left_behind(cli.home) == []
    seen = at_question(cli, f"{answer}\n", "plugin", "marketplace", "add", shop.index)
    assert OURS.public in seen and "The list itself names this key" in seen
    code = cli.run("plugin", "install", "acme.notes@acme", "--yes").code
    assert (code, names(cli)) == ((0, ["acme.notes"]) if answer == "y" else (1, []))


def test_a_signed_archive_by_itself_and_its_updates(cli: Cli, tmp_path: Path) -> None:
    archive, beside = tmp_path / "n.tar.gz", tmp_path / "n.tar.gz.minisig"

    def make(version: str, at: int, by=OURS) -> None:
        archive.write_bytes(kit.tar_gz(kit.portable(version, word=version)))
        beside.write_text(by.sign(archive.read_bytes(), at=at))

    make("0.1.0", 5)
    install = ("install", "--archive", str(archive), "--yes")
    assert "--key KEY verifies it" in cli.run("plugin", *install).err
    assert cli.run("plugin", "remove", "acme.notes").code == 0
    assert cli.run("plugin", *install, "--signature", str(beside)).code == 64
    assert cli.run("plugin", "install", "--dir", ".", "--signature", str(beside)).code == 64
    refused(cli, "what is pinned is 0202", *install, "--key", THEIRS.public)
    done = cli.run("plugin", *install, "--key", OURS.public)
    assert (done.code, "signed    by minisign key 0101" in done.out) == (0, True), done.err
    make("0.2.0", 6, by=THEIRS)
    refused(cli, "what is pinned is 0101", "update", "acme.notes", "--yes")
    make("0.2.0", 6)
    os.rename(beside, tmp_path / "elsewhere")
    refused(cli, "the signature cannot be had", "update", "acme.notes", "--yes")
    refused(cli, "is not signed: nothing was changed", *install)
    os.rename(tmp_path / "elsewhere", beside)
    assert cli.run("plugin", "update", "acme.notes", "--yes").code == 0
    folder = kit.write(tmp_path / "folder", kit.portable("0.3.0"))
    refused(cli, "is not signed: nothing was changed", "install", "--dir", str(folder), "--yes")
    refused(cli, "it is not signed", "install", "--dir", str(folder), "--yes", "--key", OURS.public)


def test_a_signature_covers_no_git_no_folder_and_no_words_of_a_list(cli: Cli, shop: Shop, tmp_path) -> None:
    data = kit.tar_gz({"skills/a/SKILL.md": kit.skill("a")})
    shop.pages["/a.tar.gz"] = data
    archive = {"source": "archive", "url": f"http://{shop.place}/a.tar.gz", "signature": OURS.sign(data)}
    text = OURS.sign(b"x")
    plugins = [
        {"name": "bare", "source": archive, "hooks": {"hooks": {}}},
        {"name": "folder", "source": "./kit", "signature": text},
        {"name": "repo", "source": {"source": "github", "repo": "a/b", "signature": text}},
        {"name": "plain", "source": "./kit"},
    ]
    folder = kit.write(tmp_path / "list", {f"kit/{name}": text for name, text in kit.claude().items()})
    kit.write(folder, {"marketplace.json": json.dumps({"name": "shop", "plugins": plugins})})
    assert cli.run("plugin", "marketplace", "add", str(folder), "--key", OURS.public).code == 0
    for name, words in {
        "bare": "what its list says of it is not signed",
        "folder": "signatures of archives alone",
        "repo": "signatures of archives alone",
        "plain": "it is not signed, and the key 0101",
    }.items():
        refused(cli, words, "install", f"{name}@shop", "--yes")
    kit.write(folder, {"marketplace.json": json.dumps({"name": "shop", "plugins": [], "signature": text})})
    refused(cli, "it is signed (`signature`)", "marketplace", "add", str(folder))
    assert names(cli) == []
