"""An exported page in a real browser: it shows the text, and what a hostile session holds does nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hang_guard import HANG_S

from caliban_common.terminal import visible

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs chromium (Debian: apt-get install chromium)")


class Lure:
    """A server on the loopback that notes who asks."""

    def __init__(self) -> None:
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(200)
                self.send_header("Content-Type", "text/javascript")
                self.end_headers()
                self.wfile.write(b"document.title = 'OWNED';")

            def log_message(self, *_: object) -> None:
                pass

        self.asked = asked
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def lure() -> Iterator[Lure]:
    server = Lure()
    yield server
    server.close()


class TextReader(HTMLParser):
    """The text of a page, without its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(page: Path, folder: Path) -> tuple[str, str]:
    """The page's elements as the browser has them once it is idle, and what it says of it."""
    assert BROWSER is not None
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--enable-logging=stderr",
            f"--user-data-dir={folder}",
            "--virtual-time-budget=2000",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        timeout=HANG_S,
    )
    return done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def attacks(url: str) -> list[str]:
    return [
        f"<script src='{url}/a'></script><script>document.title='OWNED'; alert(1)</script>",
        f"</pre></details></article><img src='{url}/b' onerror=\"document.title='OWNED'\">",
        f"</style><style>@import url('{url}/c'); body {{ background: url('{url}/d') }}</style>",
        f"<meta http-equiv='refresh' content='0;url={url}/e'><base href='{url}'>",
        f"<iframe src='{url}/f'></iframe><object data='{url}/g'></object><embed src='{url}/h'>",
        f"<link rel='stylesheet' href='{url}/i'><link rel='preload' href='{url}/j' as='image'>",
        f"<svg onload=\"fetch('{url}/k')\"><a xlink:href='javascript:alert(1)'>x</a></svg>",
        "<a href=\"javascript:document.title='OWNED'\">x</a> data:text/html,<script>alert(1)</script>",
        "]]><!-- --><![CDATA[ &lt;script&gt; &#60;script&#62; \\u003cscript>",
        "\x1b]0;owned\x07\x1b[2J \u202egnp.exe \u2066hidden\u2069 \x00 \ufeff",
        "{{constructor.constructor('alert(1)')()}} ${alert(1)} <%= 1 %>",
    ]


def hostile(url: str) -> dict[str, object]:
    texts = attacks(url)
    content = [{"type": "text", "text": text} for text in texts]
    calls = [
        {"type": "tool_use", "id": f"t{n}", "name": text[:200], "input": {text: text}}
        for n, text in enumerate(texts)
    ]
    results = [
        {"type": "tool_result", "tool_use_id": f"t{n}", "content": text, "is_error": n % 2 == 0}
        for n, text in enumerate(texts)
    ]
    huge = {
        "type": "tool_result",
        "tool_use_id": "t0",
        "content": "<b>" + "z" * 10_000_000,
        "is_error": False,
    }
    image = {"type": "image", "source": {"type": "url", "url": f"{url}/image.png"}}
    return {
        "form": "caliban-session",
        "version": 1,
        "name": "hostile",
        "title": texts[0][:200],
        "labels": [texts[1][:40]],
        "provider": texts[2][:100],
        "model": texts[3][:100],
        "workspace": texts[4],
        "messages": [
            {"id": "a", "role": "user", "content": [*content, image]},
            {"id": "b", "role": "assistant", "content": [*content, *calls]},
            {"id": "c", "role": "user", "content": [*results, huge]},
            {"id": "d", "role": "assistant", "content": [{"type": "text", "text": "the last words"}]},
        ],
    }


def exported(cli, url: str) -> Path:
    source = cli.work / "hostile.json"
    source.write_text(json.dumps(hostile(url)))
    assert cli.run("sessions", "import", str(source)).out == "hostile\n"
    done = cli.run("sessions", "export", "hostile", "--output", "page.html")
    assert (done.code, done.err) == (0, "")
    return cli.work / "page.html"


def test_a_hostile_conversation_is_text_in_a_browser_and_asks_nobody(cli, lure, tmp_path):
    page = exported(cli, lure.url)
    dom, log = rendered(page, tmp_path / "profile")
    assert lure.asked == []
    assert "<title>OWNED</title>" not in dom
    reader = TextReader()
    reader.feed(dom)
    for text in attacks(lure.url):
        assert reader.text.count(visible(text)) >= 3, text  # said twice, and in a result
    assert "the last words" in reader.text
    for element in ("script", "img", "iframe", "object", "embed", "link", "svg", "base", "form", 'a href="j'):
        assert f"<{element}" not in dom, element
    assert "Content Security Policy" not in log
    assert not any(char in dom for char in "\x1b\x07\x00\u202e\u2066\ufeff")
    assert "\\u202egnp.exe" in dom
    assert page.stat().st_size < 3_000_000
    assert "more characters are left out here" in dom


def test_what_got_past_the_escaping_could_still_load_and_run_nothing(cli, lure, tmp_path):
    page = exported(cli, lure.url)
    text = page.read_text()
    page.write_text(text.replace("<body>", "<body>" + "".join(attacks(lure.url)[:3]), 1))
    dom, log = rendered(page, tmp_path / "profile")
    assert lure.asked == []
    assert "<title>OWNED</title>" not in dom
    assert "Content Security Policy" in log


def test_without_the_policy_and_the_escaping_the_same_would_run(lure, tmp_path):
    page = tmp_path / "bare.html"
    page.write_text(f"<title>x</title><body>{attacks(lure.url)[1]}<script src='{lure.url}/a'></script>")
    dom, _ = rendered(page, tmp_path / "profile")
    assert "<title>OWNED</title>" in dom
    assert lure.asked
