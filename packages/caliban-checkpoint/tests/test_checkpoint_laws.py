"""Whatever calls, commands, people and kills do: going back gives what was before, or says whose it is."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from checkpoint_kit import Bench
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st

NAMES = ("a", "b", "d/c", "d/e/f")
CONTENT = st.sampled_from([b"", b"1", b"2\r\n", b"\xef\xbb\xbf3", bytes(range(256))])
STEP = st.one_of(
    st.tuples(st.just("prompt")),
    st.tuples(st.just("restart")),
    st.tuples(st.just("edit"), st.sampled_from(NAMES), CONTENT),
    st.tuples(st.just("command"), st.sampled_from(NAMES), st.none() | CONTENT),
    st.tuples(st.just("person"), st.sampled_from(NAMES), st.none() | CONTENT),
    st.tuples(st.just("killed"), st.sampled_from(NAMES), CONTENT),
)


def put(work: Path, name: str, data: bytes | None) -> None:
    path = work / name
    if data is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def files(work: Path) -> dict[str, bytes | None]:
    return {name: (work / name).read_bytes() if (work / name).is_file() else None for name in NAMES}


def run(bench: Bench, step) -> None:
    match step:
        case ("edit", name, data):
            bench.write(name, data)
        case ("command", name, data):
            bench.command(lambda work: put(work, name, data))
        case ("killed", name, data):
            child = os.fork()
            if child == 0:
                bench.edit(name, lambda path: (put(bench.work, name, data), os._exit(0)))
                os._exit(0)
            os.waitpid(child, 0)
            bench.restart()


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(STEP, max_size=10), st.booleans(), st.integers(0, 9))
def test_going_back_never_loses_what_a_person_did_and_else_gives_what_was_before(steps, force, back) -> None:
    home = Path(tempfile.mkdtemp())
    try:
        (home / "work").mkdir()
        bench = Bench(home / "root", home / "work")
        put(bench.work, "a", b"first")
        bench.prompt()
        before = [files(bench.work)]
        ours = {data for name, data in files(bench.work).items()}
        touched: list[set[str]] = [set()]  # by people, or by nobody knows whom, since each prompt
        for step in steps:
            if step[0] == "prompt":
                bench.prompt()
                before.append(files(bench.work))
                touched.append(set())
            elif step[0] == "restart":
                bench.restart()
            elif step[0] == "person":
                was = files(bench.work)
                put(bench.work, step[1], step[2])
                if files(bench.work) != was:
                    for names in touched:
                        names.add(step[1])
            else:
                run(bench, step)
                ours.add(step[2])
                if step[0] == "killed":
                    for names in touched:
                        names.add(step[1])
        for index in (1 + back % len(before),):
            if not any(m.prompt_index >= index for m in bench.manifests()):
                continue
            now, plan = files(bench.work), bench.plan(index)
            named = {os.path.relpath(step.path, bench.work): step for step in plan}
            for name in NAMES:
                person, step = name in touched[index - 1], named.get(name)
                if step is None:  # only people have changed it
                    assert person or now[name] == before[index - 1][name]
                elif now[name] not in ours:
                    assert step.kind in ("conflict", "unchanged")
                elif not person:
                    assert step.kind in ("restore", "delete", "unchanged"), step
            if not force and any(step.kind == "conflict" for step in plan):
                return
            bench.go_back(index, force=force)
            after = files(bench.work)
            for name in NAMES:
                if name not in touched[index - 1]:
                    assert after[name] == before[index - 1][name]
                if name not in named:
                    assert after[name] == now[name]
            return
    finally:
        shutil.rmtree(home)
