"""Command lines: what bash runs and writes must be what the rules judged, and what they deny must not run."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from caliban_common.tool import ToolSpec
from caliban_permissions import Engine, Rule, RuleSet
from caliban_permissions.commands.command import ShellCommand
from caliban_permissions.shell import HOLE, parse_line, print_line
from fuzzkit.bash import FILES, Bash, Seen
from fuzzkit.lines import Lines
from fuzzkit.main import Miss
from fuzzkit.shrink import shrink

_SPEC = ToolSpec(name="Bash", description="", input_schema={}, kind="execute", roles={"command": "command"})
_ROUND = 400
_ALLOWS = (
    ("Bash:rec1 *", "Bash:rec2 *", "Bash:cd *", "Bash:cd", "Write", "Bash:false"),
    ("Bash(rec1:*)", "Bash(rec2:*)", "Bash(cd:*)", "Write"),
    ("Bash:rec1*", "Bash:rec2 *", "Bash:cd*", "Write"),
    ("Bash:rec*", "Write"),
    ("Bash:*", "Write"),
    ("Bash:~rec", "Write"),
)
_HARMLESS = frozenset(("rec1", "rec2", "rec3", "cd", "true", "false", ""))
_DENIES = ("Bash:rec3 *", "Bash:~rec3 *", "Bash(rec3:*)", "Bash(*rec3*)")


class Case(NamedTuple):
    """A line under rules: the text to run in bash, and the engine that let it through."""

    line: str
    runs: str
    engine: Engine
    denied: bool


def rounds(pick: random.Random) -> Iterator[tuple[int, list[Miss]]]:
    """Lines under allow rules by wildcard, and hidden runs under a deny that nobody looks at."""
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = _Shell(Path(os.path.realpath(folder)), pick)
        while True:
            yield _ROUND, fuzzer.round()


class _Shell:
    def __init__(self, root: Path, pick: random.Random) -> None:
        self.pick = pick
        self.bash = Bash(root)
        self.allowing = [self._engine([("allow", rule) for rule in rules]) for rules in _ALLOWS]
        self.denying = [self._engine([("deny", rule)], mode="dontAsk") for rule in _DENIES]
        self.denying += [self._engine([("deny", rule), ("allow", "Bash")]) for rule in _DENIES[:2]]
        self.reported: set[str] = set()

    def _engine(self, rules: list[tuple[str, str]], mode: Any = "default") -> Engine:
        return Engine(
            RuleSet(user=tuple(Rule(pattern=pattern, action=action) for action, pattern in rules)),  # type: ignore[arg-type]
            mode=mode,
            workspace=self.bash.workspace,
            home=self.bash.home,
            interactive=True,
            vouched=[_SPEC],
        )

    def round(self) -> list[Miss]:
        """Generate, judge, run, compare."""
        cases = [case for _ in range(_ROUND) for case in self._cases()]
        seen = self.bash.batch([case.runs for case in cases])
        misses = []
        for case, result in zip(cases, seen, strict=True):
            if result is None or not self._differs(case, result):
                continue
            if self._differs(case, self.bash.single(case.runs)):
                misses.append(self._miss(case))
        return [miss for miss in misses if miss is not None]

    def _cases(self) -> Iterator[Case]:
        hidden = self.pick.random() < 0.5
        line = Lines(self.pick, hidden=hidden).line()
        if not hidden and self.pick.random() < 0.75:
            yield from self._read(line)
        elif not hidden or self.pick.random() < 0.3:
            yield from self._judged(line, self.pick.choice(self.allowing), denied=False)
        if hidden or self.pick.random() < 0.3:
            yield from self._judged(line, self.pick.choice(self.denying), denied=True)

    def _read(self, line: str) -> Iterator[Case]:
        """The case of a line that is clear to the reader alone, whatever rules would say."""
        parsed = parse_line(line)
        printed = print_line(parsed) if parsed.clear else None
        names = {simple.argv[0] for simple in parsed.simple_commands if simple.argv}
        if printed is not None and names <= _HARMLESS:
            for text in dict.fromkeys((printed, line)):
                yield Case(line, text, self.allowing[4], denied=False)

    def _judged(self, line: str, engine: Engine, *, denied: bool) -> Iterator[Case]:
        """The case in the form that runs, and as typed: both readings are held against each other."""
        if "\0" in line:
            return
        decision = engine.decide(_SPEC, {"command": line})
        if decision.action != "allow":
            return
        printed = line if decision.updated_input is None else decision.updated_input["command"]
        yield Case(line, printed, engine, denied)
        if printed != line and not denied:
            yield Case(line, line, engine, denied)

    def _differs(self, case: Case, seen: Seen) -> str:
        if case.denied:
            return "a denied program ran" if any(words[0] == "rec3" for words in seen.runs) else ""
        command = ShellCommand(case.line, case.engine._place, str(self.bash.workspace), ("Bash",))
        parsed = parse_line(case.line)
        if (printed := print_line(parsed)) is not None and print_line(parse_line(printed)) != printed:
            return "what is printed reads otherwise"
        targets = {item.target.text for item in command.redirects if item.writes}
        names = {simple.parsed.argv[0] for simple in command.simple_commands if simple.parsed.argv}
        if names <= _HARMLESS and not any(HOLE in target for target in targets):
            made = {name for name in seen.written if name not in targets and f"./{name}" not in targets}
            made -= {*FILES, "sub"} - set() if not made & set(FILES) else {"sub"}
            if any(
                simple.bases != (str(self.bash.workspace),) or not simple.known
                for simple in command.simple_commands
            ):
                made = {name for name in made if name.rpartition("/")[2] not in targets}
            if made:
                return f"files were written that are no targets: {sorted(made)}"
        for words in seen.runs:
            if not self._expected(words, command, targets):
                return f"a program ran that is none of the commands: {words}"
        return ""

    def _expected(self, words: tuple[str, ...], command: ShellCommand, targets: set[str]) -> bool:
        home = str(self.bash.home)
        for simple in command.simple_commands:
            if simple.expanded is None:
                if words[0] == simple.parsed.argv[0]:
                    return True
                continue
            mine = []
            for index, text in simple.expanded:
                word = simple.parsed.words[index]
                if word.at_home and word.glob is None:
                    text = home + text[1:]
                elif any(item.kind == "directory" for item in word.segments or ()):
                    text = HOLE
                mine.append(text)
            if not mine:
                continue
            many = simple.parsed.repeated or any(word.glob is not None for word in simple.parsed.words)
            moved = simple.bases != (str(self.bash.workspace),) or not simple.known
            if any(HOLE in text for text in mine) or many or moved:
                if words[0] == mine[0]:
                    return True
            elif tuple(word for word in words if word not in targets) == tuple(
                word for word in mine if word not in targets
            ):
                return True
        return False

    def _miss(self, case: Case) -> Miss | None:
        small = shrink(case.line, partial(self._still, case))
        if small in self.reported:
            return None
        self.reported.add(small)
        again = next((judged for judged in self._judged(small, case.engine, denied=case.denied)), case)
        why = self._differs(again, self.bash.single(again.runs))
        form = "as typed" if case.runs == case.line else f"printed {again.runs!r}"
        rules = [rule.pattern for rule in case.engine.rules.user]
        return Miss(small, f"{why} ({form}; rules {rules}, from {case.line!r})")

    def _still(self, case: Case, text: str) -> bool:
        typed = case.runs == case.line
        cases = [*self._judged(text, case.engine, denied=case.denied)]
        for judged in cases if case.denied else [*cases, *self._read(text)]:
            if (judged.runs == judged.line) == typed and self._differs(judged, self.bash.single(judged.runs)):
                return True
        return False
