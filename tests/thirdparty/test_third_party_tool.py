"""A tool of somebody else: installed as a package of its own, offered and called, no edit anywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_kit import Cli, find_uv, opened
from hang_guard import HANG_S

from caliban_provider_anthropic.testing import wire

EXAMPLE = Path(__file__).parents[2] / "packages/caliban-agent-core/examples/caliban-tool-words"
DONE = wire.exchange(wire.text("Done."))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("third-party")
    uv = find_uv()
    source = target / "source"
    shutil.copytree(EXAMPLE, source)
    site = target / "site"
    command = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--target", str(site), str(source)]
    subprocess.run(command, check=True, timeout=HANG_S)
    return site


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    with opened(tmp_path) as command:
        yield command


def beside(site: Path) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))}


def offered(cli: Cli) -> list[str]:
    return [tool["name"] for tool in cli.bodies()[0].get("tools", [])]


def test_it_is_offered_and_called_and_its_progress_is_no_frame(installed, cli):
    cli.script(wire.exchange(wire.tool_use("CountWords", {"text": "one two three"}, id="t1")), DONE)
    args = ("-p", "count", "--allow", "CountWords", "--output-format", "stream-json")
    done = cli.run(*args, env=beside(installed))
    assert done.code == 0, done.err
    assert offered(cli)[-2] == "CountWords"
    (result,) = done.of("tool_result")
    assert result["content"] == [{"type": "text", "text": "3 words"}]
    assert "CountWords" in done.of("system")[0]["tools"]
    assert "counting" not in done.out


def test_rules_hold_for_it_as_for_any_other(installed, cli):
    cli.script(DONE)
    assert cli.run("-p", "count", "--deny", "CountWords", env=beside(installed)).code == 0
    assert "CountWords" not in offered(cli)


def test_a_bare_run_has_built_in_tools_only(installed, cli):
    cli.script(DONE)
    assert cli.run("-p", "count", "--bare", env=beside(installed)).code == 0
    assert "CountWords" not in offered(cli)
    assert "Read" in offered(cli)


def test_one_that_does_not_load_is_named_and_skipped(installed, cli, tmp_path):
    site = tmp_path / "site"
    shutil.copytree(installed, site)
    info = site / "broken-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[caliban.tools]\nbroken = broken_module:TOOL\n")
    (site / "broken_module.py").write_text("raise RuntimeError('half installed')\n")
    cli.script(DONE)
    done = cli.run("-p", "count", env=beside(site))
    assert done.code == 0, done.err
    assert done.out == "Done.\n"
    assert "the tool 'broken' (broken_module:TOOL) is left out: RuntimeError: half installed" in done.err
    assert "Traceback" not in done.err
    assert offered(cli)[-2] == "CountWords"
    looked = cli.run("doctor", env=beside(site))
    assert "\n✓ tools — 1 tool of other packages: CountWords\n" in looked.out
    assert "\n! tools — the tool 'broken' (broken_module:TOOL) is left out: RuntimeError" in looked.out


def test_the_system_prompt_is_the_same_with_it_and_without(installed, cli):
    cli.script(DONE, DONE)
    assert cli.run("-p", "count").code == 0
    assert cli.run("-p", "count", env=beside(installed)).code == 0
    without, having = (body["system"] for body in cli.bodies())
    assert without == having
