"""What real bash runs, against what we said it would run.

Programs on the search path record their arguments. Whenever a generated command is allowed, every recorded
run must be one of our simple commands, and every file that appeared one of our redirect targets.
"""

from __future__ import annotations

import collections
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hang_guard import HANG_S

from caliban_permissions.commands.command import ShellCommand
from caliban_permissions.shell import parse_line

BASH = shutil.which("bash")
EXAMPLES = 300

pytestmark = pytest.mark.skipif(BASH is None or sys.platform == "win32", reason="needs bash")

FRAGMENTS = [
    "a",
    "b.txt",
    "*",
    "*.txt",
    "?.txt",
    "'x y'",
    '"x y"',
    "\\ ",
    "\\;",
    "$x",
    "${x}",
    "$(rec3)",
    "`rec3`",
    "~",
    "~root",
    "#",
    "\\#",
    "{a,b}",
    "{a..c}",
    "a{b}",
    "@{1}",
    "=",
    "x=1",
    "'",
    '"',
    "\\",
    "\\\n",
    "\n",
    "!",
    "-n",
    "--",
    "$'a'",
    '$"b"',
    "$",
    '"$"',
    '"\\$x"',
    "'$x'",
    '"a\\b"',
    '"\\\n"',
    "[ab]*",
    "[!-]*",
    "-",
    "^",
    "%",
    "+",
    ",",
    "..",
    "\u00e9",
    "\u00a0",
    "\uff1b",
    "\t",
    "*'.txt'",
    "'*'",
    "$\\\n{x}",
    "$\\\n(rec3)",
    "<(rec3)",
    ">(rec3)",
    '"`rec3`"',
    '"$(rec3)"',
    "\\'",
    '"\'"',
    "'\"'",
    "&",
    "|",
    ";",
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
]
OPERATORS = [
    ";",
    " ; ",
    "&&",
    " && ",
    "||",
    "|",
    " | ",
    "\n",
    "&",
    " |& ",
    "\n\n",
    " &&\n",
    "|\n",
    ";;",
    " & ",
]
REDIRECTS = [
    " >f",
    " > f",
    " 2>&1",
    " >/dev/null",
    " >>f",
    " <a.txt",
    " <<<x",
    " &>f",
    " >&f",
    " 2>f",
    " >|f",
    " <<'E'\nrec3 x\nE",
    " <<E\nrec3\nE",
    " <<-'E'\n\tx\n\tE",
    " 3>&-",
    " >&2",
    " <>f",
    " <<'A' <<'B'\nx\nA\ny\nB",
    " >$x",
    " >f*",
]
PROGRAMS = [
    "rec1",
    "rec2",
    "rec1",
    "rec3",
    "r\\ec1",
    "'rec1'",
    "LC_ALL=C rec1",
    "x=1 rec1",
    "! rec1",
    "if",
    "$x",
    "rec1\\\n",
    "cd sub;",
]
COMPOUNDS = [
    "if rec1; then rec3; fi",
    "for i in a; do rec3; done",
    "rec1() { rec3; }",
    "[[ -n a ]] && rec1",
    "((1)) && rec1",
]
FILES = ("a.txt", "b.txt", "sp ace", "-x")


class OptionGrammar:
    """Random command lines: mostly sound, sometimes not."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def word(self) -> str:
        if self.random.random() < 0.45:
            return self.random.choice(["a", "b.txt", "-n", "'x y'", '"x y"', "x=1", "*.txt", "\\;"])
        return "".join(self.random.choice(FRAGMENTS) for _ in range(self.random.choice([1, 1, 2, 3])))

    def simple(self) -> str:
        text = self.random.choice(PROGRAMS)
        for _ in range(self.random.choice([0, 1, 1, 2, 3])):
            text += self.random.choice([" ", "  ", "\t", " \\\n "]) + self.word()
        if self.random.random() < 0.25:
            text += self.random.choice(REDIRECTS)
        if self.random.random() < 0.08:
            text += self.random.choice([" # x; rec3", " #'", " #\\\n rec3"])
        return text

    def line(self, depth: int = 0) -> str:
        text = ""
        for number in range(self.random.choice([1, 1, 2, 2, 3])):
            text += self.random.choice(OPERATORS) if number else ""
            chance = self.random.random()
            if depth < 2 and chance < 0.06:
                text += "(" + self.line(depth + 1) + ")"
            elif depth < 2 and chance < 0.12:
                text += "{ " + self.line(depth + 1) + self.random.choice(["; }", " ;}", "\n}"])
            elif chance < 0.15:
                text += self.random.choice(COMPOUNDS)
            else:
                text += self.simple()
        return text


def recorder(path: Path) -> None:
    path.write_text('#!/bin/sh\nprintf \'%s\\0\' "${0##*/}" "$@" > "$RECORDS/$$"\n')
    path.chmod(0o755)


def run(command: str, scene: Any) -> tuple[collections.Counter[tuple[str, ...]], set[str]]:
    """The programs that bash ran, with their arguments, and the files that appeared."""
    records = scene.root / "records"
    for folder in (records, scene.workspace):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    scene.add(*FILES, "sub/")
    subprocess.run(
        [BASH or "bash", "--noprofile", "--norc", "-c", command],
        cwd=scene.workspace,
        env={
            "PATH": str(scene.root / "bin"),
            "RECORDS": str(records),
            "HOME": str(scene.home),
            "LANG": "C.UTF-8",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=HANG_S,
        check=False,
    )
    runs = collections.Counter(
        tuple(part.decode() for part in file.read_bytes().split(b"\0")[:-1]) for file in records.iterdir()
    )
    return runs, {file.name for file in scene.workspace.iterdir()} - {*FILES, "sub"}


def expected(command: ShellCommand, home: Path) -> collections.Counter[tuple[str, ...]]:
    runs: collections.Counter[tuple[str, ...]] = collections.Counter()
    for simple in command.simple_commands:
        assert simple.expanded is not None
        words = [
            str(home) + text[1:] if simple.parsed.words[index].raw.startswith("~") else text
            for index, text in simple.expanded
        ]
        runs[tuple(words)] += 1
    return runs


def without(
    runs: collections.Counter[tuple[str, ...]], names: set[str]
) -> collections.Counter[tuple[str, ...]]:
    """The runs without the files that the line itself makes: a wildcard may or may not meet them."""
    kept: collections.Counter[tuple[str, ...]] = collections.Counter()
    for words, count in runs.items():
        kept[tuple(word for word in words if word not in names)] += count
    return kept


@pytest.mark.parametrize("seed", range(3))
def test_what_bash_runs_is_among_the_leaves(seed: int, scene: Any) -> None:
    (scene.root / "bin").mkdir()
    for name in ("rec1", "rec2", "rec3"):
        recorder(scene.root / "bin" / name)
    engine = scene.engine(
        ("allow", "Bash:rec1 *"),
        ("allow", "Bash:rec2 *"),
        ("allow", "Bash(cd:*)"),
        ("allow", "Write:{ws}/**"),
    )
    grammar, allowed = OptionGrammar(seed), 0
    for _ in range(EXAMPLES):
        text = grammar.line()
        if engine.explain(scene.spec("Bash"), {"command": text}).verdict != "allow":
            continue
        allowed += 1
        scene.add(*FILES, "sub/")
        command = ShellCommand(text, engine._place, str(scene.workspace), ("Bash",))
        simple_commands = expected(command, scene.home)
        targets = {redirect.target.text for redirect in command.redirects if redirect.writes}
        runs, files = run(text, scene)
        assert files <= targets, text
        if len({base for simple in command.simple_commands for base in simple.bases}) == 1:
            assert not without(runs, targets) - without(simple_commands, targets), (
                text,
                runs,
                simple_commands,
            )
        else:
            assert {words[0] for words in runs} <= {words[0] for words in simple_commands}, text
    assert allowed > EXAMPLES / 20


REAL = {
    "env": "/usr/bin/env",
    "xargs": "/usr/bin/xargs",
    "nice": "/usr/bin/nice",
    "sh": "/bin/sh",
    "bash": "/bin/bash",
}
HIDDEN: list[str] = json.loads((Path(__file__).parent / "corpus" / "hidden.json").read_text())
DENIES = ("Bash:~rec3 *", "Bash:rec3 *", "Bash(rec3:*)", "Bash(*rec3*)")


def nested(pick: random.Random, line: str, hidden: str) -> str:
    """A line with a hidden run of rec3 somewhere in it."""
    forms = (
        f"{line}\n{hidden}",
        f"{hidden} | {line}",
        f"({hidden}){line}",
        f"rec1 $({hidden})",
        f"if true; then {hidden}\nfi",
        f"{{ {hidden}\n}}",
        f"x=1 {hidden}",
        f"for i in a; do {hidden}\ndone",
        'echo "`' + hidden.replace("`", "\\`") + '`"',
    )
    return pick.choice(forms)


@pytest.mark.skipif(not all(map(os.path.exists, REAL.values())), reason="needs the usual programs")
def test_what_a_deny_names_never_runs_while_nobody_looks(scene: Any) -> None:
    (scene.root / "bin").mkdir()
    for name in ("rec1", "rec2", "rec3"):
        recorder(scene.root / "bin" / name)
    for name, target in REAL.items():
        (scene.root / "bin" / name).symlink_to(target)
    engines = [scene.engine(("deny", pattern), mode="dontAsk") for pattern in DENIES]
    grammar, pick = OptionGrammar(7), random.Random(7)
    lines = HIDDEN + [nested(pick, grammar.line(), pick.choice(HIDDEN)) for _ in range(150)]
    lines += [grammar.line().replace("rec2", "rec3") for _ in range(100)]
    denied = 0
    for text in lines:
        verdicts = [engine.explain(scene.spec("Bash"), {"command": text}).verdict for engine in engines]
        denied += verdicts.count("deny")
        if set(verdicts) != {"deny"}:
            runs, _ = run(text, scene)
            assert not any(words[0] == "rec3" for words in runs), (text, verdicts)
    assert denied > 2 * len(lines)


def test_the_generator_meets_every_kind_of_line() -> None:
    lines = [OptionGrammar(seed).line() for seed in range(400)]
    clear = [line for line in lines if parse_line(line).clear]
    assert 40 < len(clear) < 360
    assert any("|" in line for line in clear)
    assert any("(" in line for line in clear)
