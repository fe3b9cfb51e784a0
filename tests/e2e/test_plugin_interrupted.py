"""Plugins while the network breaks, and while another command changes them at the same time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import plugin_kit as kit
import pytest
from command_kit import Cli
from terminal_kit import at_question
from test_plugins import ask, said


class Place:
    """A server whose answers can be cut in the middle, or be an error."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.broken = ""
        self.host = ""

    def offer(self, version: str) -> None:
        data = kit.tar_gz(kit.portable(version, word=version))
        self.pages["/n.tar.gz"] = data
        row = {"version": version, "tarball": f"http://{self.host}/n.tar.gz", "sha256": kit.sha(data)}
        index = {"name": "acme", "plugins": [{"name": "acme.notes", "versions": [row]}]}
        self.pages["/index.json"] = json.dumps(index).encode()


@contextmanager
def placed() -> Iterator[Place]:
    place = Place()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = place.pages.get(self.path, b"")
            self.send_response(500 if place.broken == f"500 {self.path}" else 200)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if place.broken == f"half {self.path}" else data)
            self.close_connection = True

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    place.host = f"127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield place
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_network_that_breaks_in_the_middle_leaves_what_was_there(cli: Cli) -> None:
    def run(*words: str, code: int, err: str = "") -> None:
        done = cli.run("plugin", *words)
        assert (done.code, err in done.err) == (code, True), done.err

    with placed() as place:
        cli.configure(f'web_fetch_hosts = ["{place.host}"]\n')
        place.offer("0.1.0")
        add = ("marketplace", "add", f"http://{place.host}/index.json")
        for broken, words in (("500", "answered 500"), ("half", "broke in the middle")):
            place.broken = f"{broken} /index.json"
            run(*add, code=1, err=words)
        place.broken = ""
        assert kit.left_behind(cli.home) == []
        run(*add, code=0)
        for broken, words in (("500", "answered 500"), ("half", "broke in the middle")):
            place.broken = f"{broken} /n.tar.gz"
            run("install", "acme.notes@acme", "--yes", code=1, err=words)
        place.broken = ""
        run("install", "acme.notes@acme", "--yes", code=0)
        run("rollback", "acme.notes", code=1, err="no earlier version")
        place.offer("0.2.0")
        place.broken = "half /n.tar.gz"
        run("update", "acme.notes", "--yes", code=1, err="broke in the middle")
        assert "Summarize, 0.1.0." in said(ask(cli, prompt="/acme.notes:summarize")[1])
        place.broken = ""
        run("update", "acme.notes", "--yes", code=0)
    assert "Summarize, 0.2.0." in said(ask(cli, prompt="/acme.notes:summarize")[1])
    done = cli.run("plugin", "install", "acme.notes@acme", "--yes")  # from what is kept: nobody answers now
    assert (done.code, "nothing: it is the same" in done.out) == (0, True), done.err
    run("remove", "acme.notes", code=0)
    run("marketplace", "remove", "acme", code=0)
    assert kit.left_behind(cli.home) == []


@pytest.mark.parametrize(
    ("meanwhile", "words", "after"),
    [
        (("remove", "kit"), "kit was removed meanwhile; nothing was written", None),
        (("update", "kit", "--yes"), "updated: kit 2.0.0", "first"),
        (("disable", "kit"), "updated: kit 2.0.0", "first"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_a_yes_is_about_what_is_there_by_then(
    cli: Cli, meanwhile: tuple[str, ...], words: str, after: str | None
) -> None:
    folder = kit.write(cli.work / "kit", kit.claude())
    assert cli.run("plugin", "install", "--dir", str(folder), "--yes").code == 0
    kit.write(folder, kit.claude("2.0.0", word="second"))

    def other() -> None:
        assert cli.run("plugin", *meanwhile).code == 0

    step: Callable[[], None] = other
    assert words in at_question(cli, "y\n", "plugin", "update", "kit", meanwhile=step)
    if after is None:
        assert cli.run("plugin", "list").out == "(no plugins)\n"
        assert kit.left_behind(cli.home) == []
        return
    (row,) = cli.run("plugin", "list", "--json").frames
    assert (row["version"], row["state"]) == ("2.0.0", "disabled" if "disable" in meanwhile else "enabled")
    assert cli.run("plugin", "rollback", "kit").code == 0
    assert cli.run("plugin", "enable", "kit").code == 0
    assert f"as the {after} would" in said(ask(cli, prompt="/kit:greet Ada")[1])
