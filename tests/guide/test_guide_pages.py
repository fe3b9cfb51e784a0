"""The pages of the guide: their lines run, their links lead somewhere, and the site has them all."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from caliban_provider.testing.loopback import Exchange, LoopbackServer, Request
from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDE = DOCS / "guide"
PAGES = tuple(sorted(DOCS.rglob("*.md")))
SAMPLES = {"string": "Prague", "integer": 2, "number": 2.5, "boolean": True}
LAST_LINES = {
    "first-agent 1": '{"name": "Prague", "people": 1300000} 10',
    "first-agent 2": "end_of_turn 1",
    "tools 1": '{"name": "Prague", "people": 1300000}',
    "tools 2": '{"name": "Prague", "people": 1300000}',
    "memory 1": '{"name": "Prague", "people": 1300000} 4',
    "memory 2": "['user', 'assistant']",
    "structured 1": "Prague 1300000",
    "approval 1": '{"name": "Prague", "people": 1300000}',
    "events 1": "end_of_turn",
    "events 2": "2",
    "hooks 1": "True",
    "mcp 1": '{"name": "Prague", "people": 1300000} 4',
    "agents 1": '{"name": "Prague", "people": 1300000}',
    "costs 1": "",
    "providers 1": '{"name": "Prague", "people": 1300000}',
    "providers 2": '{"name": "Prague", "people": 1300000}',
}


def blocks() -> dict[str, str]:
    """The Python blocks of the pages, but for those of the programs, which stand in files."""
    return {
        f"{page.stem} {number}": block
        for page in sorted(GUIDE.glob("*.md"))
        if page.stem != "programs"
        for number, block in enumerate(
            re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S), start=1
        )
    }


def answer(request: Request) -> Exchange:
    """Ask for the tool on offer once, with arguments that fit, and then answer with a city."""
    body = request.json
    if body.get("tools") and "tool_result" not in json.dumps(body["messages"]):
        tool = body["tools"][0]
        arguments = {
            name: SAMPLES[schema["type"]] for name, schema in tool["input_schema"]["properties"].items()
        }
        return wire.exchange(wire.tool_use(tool["name"], arguments))
    return wire.exchange(wire.text('{"name": "Prague", "people": 1300000}'))


@pytest.mark.parametrize("name", blocks())
def test_the_lines_of_a_page_run_as_they_stand(name, lines):
    with LoopbackServer(answer, validator=StrictValidator()) as server:
        done = lines(blocks()[name], server.url).run()
        assert server.requests
    assert done.returncode == 0, done.stderr
    assert LAST_LINES[name] in done.stdout.splitlines()[-1]


def test_the_page_of_programs_shows_them_as_they_are():
    text = (GUIDE / "programs.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\[(\w+)\.py\].*?^```python\n(.*?)^```", text, re.M | re.S))
    assert shown == {
        path.stem: path.read_text(encoding="utf-8") for path in (GUIDE / "programs").glob("*.py")
    }


def test_the_page_of_events_names_them_all():
    from typing import get_args

    from caliban_agent_core import AgentEvent

    rows = re.findall(r"^\| (`.*?) \|", (GUIDE / "events.md").read_text(encoding="utf-8"), re.M)
    shown = {name for row in rows[1:] for name in re.findall(r"`(\w+)`", row)}
    assert shown == {str(kind.__struct_config__.tag) for kind in get_args(AgentEvent)}


def site() -> dict[str, object]:
    return yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def named(nav: object) -> list[str]:
    """The pages below a part of the navigation."""
    match nav:
        case str():
            return [nav]
        case dict():
            return [page for part in nav.values() for page in named(part)]
        case list():
            return [page for part in nav for page in named(part)]
    raise AssertionError(nav)


def test_the_site_names_every_page_once():
    assert sorted(named(site()["nav"])) == sorted(str(page.relative_to(DOCS).as_posix()) for page in PAGES)


def anchors(page: Path) -> set[str]:
    """What a link may name in a page: its headings, as the generator spells them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_between_pages_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        assert "://" not in link, f"{link}: the guide names no address that is not ours"
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file() and target.is_relative_to(DOCS), link
        assert not anchor or anchor in anchors(target), link


def test_the_script_that_builds_the_site_says_how():
    done = subprocess.run(
        [str(ROOT / "scripts" / "docs"), "--help"], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "dist/site" in done.stdout
