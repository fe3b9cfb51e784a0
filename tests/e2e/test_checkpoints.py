"""Checkpoints through the real command: what runs change is kept, and `caliban rewind` puts it back."""

from __future__ import annotations

from pathlib import Path

from caliban_provider_anthropic.testing import wire

DONE = wire.text("done")


def prompt(cli, words: str, *uses, session: str = "s", flags=()):
    """One prompt that makes each call of `uses` in a turn of its own."""
    cli.script(*(wire.exchange(use) for use in uses), wire.exchange(DONE))
    done = cli.run(
        "-p", words, "--session", session, "--allow", "Bash", "--permission-mode", "acceptEdits", *flags
    )
    assert done.code == 0, done.err
    return done


def bash(command: str):
    return wire.tool_use("Bash", {"command": command})


def write(path: str, content: str):
    return wire.tool_use("Write", {"path": path, "content": content})


def tree(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Everything below `folder`: modes, and bytes or where links lead."""
    out: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            out[name] = (0, str(path.readlink()))
        elif path.is_dir():
            out[name] = (0, "directory")
        else:
            out[name] = (path.stat().st_mode & 0o777, path.read_bytes())
    return out


def test_edits_are_put_back_byte_for_byte_and_new_files_go(cli):
    (cli.work / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    (cli.work / "a.txt").chmod(0o640)
    before = tree(cli.work)
    prompt(
        cli,
        "change",
        wire.tool_use("Read", {"path": "a.txt"}),
        wire.tool_use("Edit", {"path": "a.txt", "old_string": "two", "new_string": "2"}),
        write("sub/deep/b.txt", "new\n"),
    )
    assert (cli.work / "sub" / "deep" / "b.txt").exists()
    after = tree(cli.work)
    assert after != before
    done = cli.run("rewind", "s", "--to", "1", "--code")
    assert done.code == 0, done.err
    assert tree(cli.work) == before
    redo = cli.run("rewind", "s", "--to", "2", "--code")
    assert redo.code == 0, redo.err
    assert tree(cli.work) == after
