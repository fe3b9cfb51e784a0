"""Second opinions: two general shell parsers, on lines that we call clear."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hang_guard import HANG_S

from caliban_permissions.shell import ParsedLine, parse_line

WORDS = [
    "a",
    "b.txt",
    "-n",
    "--x=y",
    "'x y'",
    '"x y"',
    "x=1",
    "*.txt",
    "\\;",
    "a\\ b",
    '"a\\"b"',
    "'$x'",
    "@{1}",
    "~/x",
    "a#b",
    "\u00e9",
    "--",
    "'a'\"b\"c",
    '"\\$x"',
    "a,b",
    "{}",
    "%",
    "^",
    "a..b",
    "'\n'",
    "[ab]",
    "?",
    "''",
]
OPERATORS = ["; ", " && ", " || ", " | ", "\n", " |& "]
REDIRECTS = ["", "", "", " > f", " 2>&1", " >>f", " <g", " >/dev/null 2>&1", " <<< x", " &>f"]


def lines(seed: int, count: int) -> list[str]:
    """Random command lines, without here-documents, that both oracles read as well."""
    pick = random.Random(seed)

    def simple() -> str:
        words = " ".join(pick.choice(WORDS) for _ in range(pick.randint(0, 4)))
        return f"p{pick.randint(0, 9)} {words}".rstrip(" ") + pick.choice(REDIRECTS)

    def sequence(depth: int) -> str:
        parts = []
        for _ in range(pick.choice([1, 1, 2, 3])):
            chance = pick.random()
            if depth < 2 and chance < 0.12:
                parts.append(f"({sequence(depth + 1)})")
            elif depth < 2 and chance < 0.2:
                parts.append("{ " + sequence(depth + 1) + "; }")
            else:
                parts.append(simple())
        return "".join(
            part + (pick.choice(OPERATORS) if number < len(parts) - 1 else "")
            for number, part in enumerate(parts)
        )

    return [sequence(0) for _ in range(count)]


def raws(line: ParsedLine) -> list[list[str]]:
    return sorted([word.raw for word in simple.words] for simple in line.simple_commands)


def test_tree_sitter_finds_the_same_commands() -> None:
    tree_sitter = pytest.importorskip("tree_sitter")
    grammar = pytest.importorskip("tree_sitter_bash")
    parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))

    def commands(node: Any) -> Iterator[list[str]]:
        if node.type == "command":
            yield [
                child.text.decode()
                for child in node.children
                if not child.type.endswith("redirect") and child.type != "herestring_redirect"
            ]
        else:
            for child in node.children:
                yield from commands(child)

    compared = 0
    for text in lines(1, 400):
        line = parse_line(text)
        tree = parser.parse(text.encode())
        if not line.clear or tree.root_node.has_error:
            continue
        compared += 1
        ours = [simple.words[0].raw for simple in line.simple_commands]
        theirs = [words[0] for words in commands(tree.root_node)]
        assert sorted(ours) == sorted(theirs), text
    assert compared > 200


SHFMT = shutil.which("shfmt", path=str(Path(sys.executable).parent)) or shutil.which("shfmt")


@pytest.mark.skipif(SHFMT is None, reason="shfmt is not installed")
def test_shfmt_finds_the_same_commands_and_words() -> None:
    texts = [text for text in lines(2, 60) if parse_line(text).clear]
    for text in texts:
        done = subprocess.run(
            [SHFMT or "shfmt", "-ln=bash", "--to-json"],
            input=text.encode(),
            capture_output=True,
            timeout=HANG_S,
            check=False,
        )
        if done.returncode:
            continue
        calls: list[list[str]] = []
        encoded = text.encode()

        def walk(node: Any, encoded: bytes = encoded, calls: list[list[str]] = calls) -> None:
            if isinstance(node, dict):
                if node.get("Type") == "CallExpr":
                    calls.append(
                        [
                            encoded[arg["Pos"]["Offset"] : arg["End"]["Offset"]].decode()
                            for arg in node.get("Args", [])
                        ]
                    )
                for value in node.values():
                    walk(value)
            elif isinstance(node, list):
                for value in node:
                    walk(value)

        walk(json.loads(done.stdout))
        assert sorted(calls) == raws(parse_line(text)), text
    assert len(texts) > 30
