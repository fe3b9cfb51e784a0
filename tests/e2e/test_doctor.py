"""`caliban doctor`: whether what a run needs is there, without a key in its output."""

from __future__ import annotations

from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_google.testing import wire as google

KEY = "sk-ant-canary-0123456789"
NO_URL = {"ANTHROPIC_BASE_URL": ""}
BARE = {"ANTHROPIC_API_KEY": "", **NO_URL}


def rows(done) -> dict[str, tuple[str, str]]:
    """The rows of the doctor by name."""
    parts = (line.partition(" — ") for line in done.out.splitlines()[1:])
    return {head.split(" ")[1]: (head.split(" ")[0], hint) for head, _, hint in parts}


def test_doctor_asks_no_server_that_nobody_named(cli):
    cli.configure("max_turns = 5")
    done = cli.run("doctor", env=NO_URL)
    assert done.code == 0
    assert done.out.splitlines()[0] == "caliban doctor — 14 checks:"
    own = ["run", "settings", "session_store", "checkpoint_store", "workspace", "trust", "skills"]
    assert list(rows(done)) == [
        *own,
        "claudemd",
        "sandbox",
        "anthropic",
        "ollama",
        "openai",
        "google",
        "local",
    ]
    assert rows(done)["settings"] == ("✓", "1 scope file loaded")
    assert rows(done)["workspace"] == ("✓", f"{cli.work} (writable)")
    unset = "ANTHROPIC_BASE_URL unset (its server was not asked; --deep asks it)"
    assert rows(done)["skills"] == ("✓", "4 skills, 0 command files")
    assert rows(done)["anthropic"] == ("✓", unset)
    assert cli.server.requests == ()
    assert not (cli.home / ".local").exists()


def test_doctor_asks_the_server_that_the_environment_names(cli):
    cli.script(wire.models("one", "two"))
    url = cli.server.url.replace("://", f"://user:{KEY}@")
    done = cli.run("doctor", env={"ANTHROPIC_API_KEY": KEY})
    assert rows(done)["anthropic"] == ("✓", f"{cli.server.url} reachable (2 models)")
    assert done.code == 0
    assert KEY not in done.out + done.err
    assert KEY not in "".join(
        hint for _, hint in rows(cli.run("doctor", env={"ANTHROPIC_BASE_URL": url})).values()
    )


def test_doctor_misses_a_model(cli):
    cli.script(wire.models("one"))
    done = cli.run("doctor", "--model", "two")
    assert rows(done)["anthropic"] == ("✗", f"{cli.server.url} does not offer the model two")
    assert done.code == 1


def test_doctor_fails_where_a_server_refuses_and_shows_no_key_that_it_repeats(cli):
    cli.script(wire.failure(401, "authentication_error", f"invalid key {KEY}"))
    done = cli.run("doctor", env={"ANTHROPIC_API_KEY": KEY})
    assert done.code == 1
    assert rows(done)["anthropic"][0] == "✗"
    assert "invalid key " in done.out
    assert KEY not in done.out + done.err


def test_doctor_reports_a_helper_that_fails_in_its_row(cli):
    cli.configure('api_key_helper = "false"')
    done = cli.run("doctor")
    assert done.code == 1
    assert rows(done)["anthropic"][0] == "✗"
    assert "failed with exit code 1" in rows(done)["anthropic"][1]
    assert cli.server.requests == ()


def test_doctor_is_an_object_for_programs(cli):
    done = cli.run("doctor", "--json", env=NO_URL)
    assert done.json["ok"] is True
    assert {tuple(row) for row in done.json["checks"]} == {("name", "state", "hint")}


def test_doctor_goes_on_where_settings_and_the_store_are_broken(cli):
    cli.configure("model = ")
    (cli.home / ".local").write_text("a file where a directory belongs")
    done = cli.run("doctor")
    assert done.code == 1
    assert [rows(done)[name][0] for name in ("settings", "session_store", "workspace", "anthropic")] == list(
        "✗✗✓!"
    )
    assert "Traceback" not in done.err


def test_doctor_shows_options_that_are_wrong_and_the_provider_that_was_named(cli):
    cli.configure(
        '[provider.ollama.options]\nnum_ctx = "many"\n[provider.azure.options]\nversion = "1"\n'
        '[provider.bedrock.options]\nregion = "eu-west-1"\n'
    )
    done = cli.run("doctor", "--provider", "vertex", env=BARE)
    rows = dict(line.partition(" — ")[::2] for line in done.out.splitlines()[1:])
    assert done.code == 0
    assert rows["✓ run"].startswith("asks vertex for ")
    assert "num_ctx must be a whole number" in rows["! ollama"]
    assert "the provider azure has no option 'version'; it has api, " in rows["! azure"]
    assert "AWS_BEDROCK_BASE_URL unset (its server was not asked" in rows["✓ bedrock"]
    assert "ANTHROPIC_VERTEX_BASE_URL unset" in rows["✓ vertex"]


def test_doctor_asks_a_server_under_its_options(cli):
    cli.configure('[provider.google.options]\napi_version = "v1alpha"\n')
    with LoopbackServer([google.models("gemini-3.8-flash")]) as server:
        env = {**BARE, "GEMINI_API_KEY": "k", "GEMINI_BASE_URL": server.url}
        done = cli.run("doctor", env=env)
        assert server.requests[0].path.startswith("/v1alpha/models")
    assert f"✓ google — {env['GEMINI_BASE_URL']} reachable (1 model)" in done.out


def test_doctor_says_how_the_local_model_is_installed(cli, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['xllamacpp'] = None\n")
    done = cli.run("doctor", env={**BARE, "PYTHONPATH": str(tmp_path)})
    remedy = "pip install 'caliban-cli[local]'"
    row = f"! local — the runtime for local models, xllamacpp, is not installed; {remedy}"
    assert (done.code, row in done.out.splitlines()) == (1, True)  # there is no key for anthropic


def test_doctor_names_the_packages_that_claim_one_provider(cli, tmp_path):
    for package, names in (("acme-one", ("acme", "anthropic")), ("acme-two", ("acme",))):
        info = tmp_path / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = "".join(f"{name} = acme:FACTORY\n" for name in names)
        (info / "entry_points.txt").write_text(f"[caliban.providers]\n{lines}")
    (tmp_path / "acme.py").write_text("raise SystemExit('nobody asked for it')\n")
    done = cli.run("doctor", env={**BARE, "PYTHONPATH": str(tmp_path)})
    rows = [line for line in done.out.splitlines() if "several packages" in line]
    clash = "! providers — several packages offer a provider"
    assert rows == [
        f"{clash} 'acme': acme-one and acme-two",
        f"{clash} 'anthropic': acme-one and caliban-provider-anthropic",
    ]
