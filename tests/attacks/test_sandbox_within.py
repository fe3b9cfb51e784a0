"""Names that decide what runs, below the top of the workspace; limits of a call; the command that tells."""

from __future__ import annotations

import subprocess

from sandbox_kit import ON, bash, needs_bwrap, sandboxed_cli

from caliban_sandbox.seatbelt import profile_faults


@needs_bwrap
def test_a_repository_within_is_protected_and_can_be_used_and_limits_hold():
    settings = f"{ON}[sandbox.limits]\nfile_size_mb = 1\ncpu_seconds = 2\nmemory_mb = 256\nprocesses = 300\n"
    with sandboxed_cli(settings) as cli:
        inner = cli.work / "sub" / "inner"
        inner.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(inner)], check=True)
        (cli.work / "a" / ".claude").mkdir(parents=True)
        (cli.work / "a" / ".claude" / "settings.json").write_text("{}")
        config = (inner / ".git" / "config").read_text()
        steps = (
            "cd sub/inner; echo x > .git/hooks/post-commit; echo x >> .git/config; mkdir -p .caliban; "
            "echo x > .caliban/settings.toml; echo x > .envrc; cd ../..; echo x > a/.claude/settings.json; "
            "mv sub gone; mv a gone; rm -rf sub/inner/.git/hooks; true",
            "cd sub/inner && echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -qm kept",
            "git init .",
            "head -c 2000000 /dev/zero > big; ulimit -u; ulimit -d; x=; while :; do x=$x; done",
            "python3 -c 'x = bytearray(1 << 30)'",
        )
        done, texts = bash(cli, *steps)
        assert (inner / ".git" / "config").read_text() == config
        assert not (inner / ".git" / "hooks" / "post-commit").exists() and inner.is_dir()
        assert (cli.work / "a" / ".claude" / "settings.json").read_text() == "{}"
        assert not (inner / ".caliban").exists() and not (inner / ".envrc").exists()
        log = subprocess.run(["git", "-C", str(inner), "log"], capture_output=True, check=True)
        assert b"kept" in log.stdout
        assert "it may make no repository at the top" in texts[2] and "git init*" in texts[2]
        assert not (cli.work / ".git").exists()
        assert (cli.work / "big").stat().st_size <= 1 << 20
        assert "\n300\n" in texts[3] and "\n262144\n" in texts[3] and "Exit code: 0" not in texts[3]
        assert "MemoryError" in texts[4]
        assert "does not protect each" not in done.err


@needs_bwrap
def test_a_tree_that_is_too_large_to_be_looked_through_is_named():
    with sandboxed_cli() as cli:
        for number in range(70):
            (cli.work / f"d{number}" / ".vscode").mkdir(parents=True)
        done, _ = bash(cli, "true")
        assert "does not protect each .git and the like" in done.err and "more than 64" in done.err


def test_the_command_prints_the_profile_of_either_system(cli):
    (cli.work / ".git").mkdir()
    done = cli.run("sandbox", "--profile", "seatbelt")
    assert done.code == 0 and done.out.startswith("; not run: ")
    lines = done.out.splitlines()
    names = [line.split()[2].partition("=")[0] for line in lines if line.startswith("; -D ")]
    text = "\n".join(line for line in lines if not line.startswith(";"))
    assert names and profile_faults(text, names) == ()
    assert profile_faults(text.replace("(deny default)", "(deny default"), names) != ()
    bubble = cli.run("sandbox", "--profile", "bubblewrap")
    assert bubble.code == 0 and f"--bind {cli.work} {cli.work}" in bubble.out.splitlines()
    assert [path.name for path in cli.work.iterdir()] == [".git"]
    assert cli.run("sandbox", "--profile", "docker").code == 64
    off = cli.run("sandbox")
    assert (off.code, off.out[:5]) == (0, "✓ off")
    missing = cli.run("sandbox", "--sandbox", "--settings", '{"sandbox": {"bwrap_path": "/nowhere/bwrap"}}')
    assert missing.code == 1 and "/nowhere/bwrap is no program that can be run" in missing.out
