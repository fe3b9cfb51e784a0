"""Every row of the corpus: an attack or an everyday call, and the verdict it must get.

A row's `id` names the published fault, the report or the page of the guide it comes from; `own` rows are
variations. Text values may be given as parts with repetitions.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).parent / "corpus"
ROWS = [
    (f"{file.stem}-{number}-{row['id']}", row)
    for file in sorted(CORPUS.glob("*.jsonl"))
    for number, row in enumerate(map(json.loads, file.read_text().splitlines()), start=1)
]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the rows use POSIX paths and links")


def text(value: Any, scene: Any) -> Any:
    """A value of the arguments: text with places filled in, or parts with how often each stands."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "".join(part * count for part, count in value)
    return scene.fill(value) if isinstance(value, str) else value


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("row", [row for _, row in ROWS], ids=[name for name, _ in ROWS])
def test_the_row_gets_its_verdict(row: dict[str, Any], scene: Any) -> None:
    scene.add(*row.get("files", ()))
    for name in row.get("home_files", ()):
        (scene.home / name).parent.mkdir(parents=True, exist_ok=True)
        (scene.home / name).write_text("x")
    for name, target in row.get("links", {}).items():
        scene.link(name, target)
    for name, target in row.get("hard_links", {}).items():
        Path(scene.fill(target)).write_text("x")
        os.link(scene.fill(target), scene.fill(name))
    options = ("mode", "auto_allow", "auto_allow_read_only", "sandboxed", "managed", "cli")
    more = {key: row[key] for key in options if key in row}
    headless = row.get("headless", False)
    args = {key: text(value, scene) for key, value in row["args"].items()}
    engine = scene.engine(*row["rules"], interactive=not headless, **more)
    spec = scene.spec(row["tool"])
    explanation = engine.explain(spec, args)
    decision = engine.decide(spec, args)
    assert engine.allows(spec, args) == (decision.action == "allow")
    verdict = decision.action if headless else explanation.verdict
    assert verdict == row["expect"], explanation.reason
    if decision.action != "allow":
        assert decision.reason
