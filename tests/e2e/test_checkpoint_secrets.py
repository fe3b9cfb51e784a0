"""What checkpoints keep of files with secrets in them: nothing that no call has named."""

from __future__ import annotations

from caliban_provider_anthropic.testing import wire


def run(cli, *uses):
    cli.script(*(wire.exchange(use) for use in uses), wire.exchange(wire.text("done")))
    done = cli.run("-p", "go", "--session", "s", "--allow", "Bash", "--permission-mode", "acceptEdits")
    assert done.code == 0, done.err


def test_no_copy_is_kept_of_files_that_hold_secrets_before_a_command_runs(cli):
    secrets = {".env": "A=hush-1", "deploy/id_rsa": "hush-2", ".docker/config.json": "hush-3"}
    for name, text in {**secrets, "plain.txt": "said aloud"}.items():
        (cli.work / name).parent.mkdir(exist_ok=True)
        (cli.work / name).write_text(text)
    run(
        cli, wire.tool_use("Bash", {"command": "for f in .env deploy/id_rsa plain.txt; do echo 2 > $f; done"})
    )
    kept = [path.read_bytes() for path in (cli.home / ".caliban").rglob("*") if path.is_file()]
    assert any(b"said aloud" in data for data in kept)
    assert not [data for data in kept if b"hush" in data]
    done = cli.run("rewind", "s", "--to", "1")
    assert done.code == 1
    assert ".env" in done.out + done.err
    assert "no copy is kept of those" in done.out + done.err
    assert (cli.work / "plain.txt").read_text() == "2\n"
    done = cli.run("rewind", "s", "--to", "1", "--force")
    assert (cli.work / "plain.txt").read_text() == "said aloud", done.err
    assert (cli.work / ".env").read_text() == "2\n"


def test_what_an_edit_names_comes_back_whatever_it_is(cli):
    (cli.work / "id_rsa.txt").write_text("x")
    (cli.work / "secrets.yaml").write_text("a: 1\n")
    read = wire.tool_use("Read", {"path": "secrets.yaml"})
    cli.script(
        wire.exchange(read),
        wire.exchange(wire.tool_use("Write", {"path": "secrets.yaml", "content": "b: 2\n"})),
        wire.exchange(wire.text("done")),
    )
    rules = ("--allow", "Read(secrets.yaml)", "--allow", "Write(secrets.yaml)")
    assert cli.run("-p", "go", "--session", "s", *rules).code == 0
    assert (cli.work / "secrets.yaml").read_text() == "b: 2\n"
    assert cli.run("rewind", "s", "--to", "1").code == 0
    assert (cli.work / "secrets.yaml").read_text() == "a: 1\n"
