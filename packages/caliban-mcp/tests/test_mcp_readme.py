"""The lines of README.md run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio

from caliban_mcp.elicit import ElicitAnswer, FormField, FormQuestion


def test_the_lines_of_the_readme_run_and_say_what_they_promise(capsys) -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for lines in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(lines, "README.md", "exec"), names)
    field = FormField(name="name", title="Name", kind="text", required=True)
    question = FormQuestion(server="desk", message="Who?", fields=(field,))
    answer = anyio.run(names["Face"]().elicit, question)
    assert answer == ElicitAnswer(action="accept", content={"name": "Ada"})
    assert capsys.readouterr().out.splitlines() == [
        "mcp__desk__read_file",
        "/home/ada/notes",
        "True False npx -y desk-server",
        "npx fetches desk-server from the network and runs it, at each start whatever is there then",
    ]
