"""What only one provider knows, and missing keys and packages, by the real command."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from caliban_provider.options import declared
from caliban_provider.registry import find
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire as anthropic
from caliban_provider_bedrock.testing import wire as bedrock
from caliban_provider_google.testing import wire as google
from caliban_provider_ollama.testing import wire as ollama
from caliban_provider_openai.testing import chat, responses

BARE = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": ""}
AWS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "any"}


BUILT_IN = ("anthropic", "azure", "bedrock", "foundry", "google", "local", "ollama", "openai", "vertex")


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_provider_says_which_options_it_has_and_so_does_its_package(name):
    factory = find(name, {})
    options = declared(factory)
    assert isinstance(options, Mapping) and options
    with pytest.raises(TypeError):
        options["new"] = "x"  # type: ignore[index]
    package = importlib.import_module(type(factory).__module__.partition(".")[0])
    readme = (Path(package.__file__ or "").parents[2] / "README.md").read_text()
    for option, about in options.items():
        assert f"`{option}`" in readme
        assert about and "\n" not in about and not about.endswith(".")


def asked(cli, name: str, exchange, variable: str, env: dict[str, str], *flags: str):
    """The request that the provider `name` sends for a prompt; `variable` says where its server is."""
    with LoopbackServer([exchange]) as server:
        env = {**BARE, **env, variable: server.url}
        done = cli.run("--provider", name, *flags, "-p", "hi", env=env)
        assert (done.code, done.out) == (0, "done\n"), done.err
        return server.requests[0]


def ollama_body(cli, env: dict[str, str] | None = None):
    script = ollama.Server([ollama.exchange(ollama.text("done"))])
    with LoopbackServer(script) as server:
        done = cli.run("--provider", "ollama", "-p", "hi", env={**(env or {}), "OLLAMA_BASE_URL": server.url})
        assert (done.code, done.out) == (0, "done\n"), done.err
        return next(request.json for request in server.requests if request.path == "/api/chat")


def test_ollama_is_given_the_window_of_the_settings_and_how_long_to_keep_the_model(cli):
    cli.configure('[provider.ollama.options]\nnum_ctx = 12345\nkeep_alive = "10m"\n')
    body = ollama_body(cli)
    assert (body["options"]["num_ctx"], body["keep_alive"]) == (12345, "10m")


def test_ollama_takes_the_window_of_its_variable_where_settings_say_nothing(cli):
    assert ollama_body(cli, {"OLLAMA_NUM_CTX": "4321"})["options"]["num_ctx"] == 4321
    cli.configure("[provider.ollama.options]\nnum_ctx = 12345\n")
    assert ollama_body(cli, {"OLLAMA_NUM_CTX": "4321"})["options"]["num_ctx"] == 12345


def test_bedrock_signs_for_the_region_of_the_settings(cli):
    cli.configure(
        '[provider.bedrock.options]\nregion = "eu-west-3"\ninference_profile = "eu"\nanthropic_beta = "b-1"\n'
    )
    reply = bedrock.exchange(anthropic.text("done"))
    flags = ("--model", "claude-sonnet-4-6")
    request = asked(cli, "bedrock", reply, "AWS_BEDROCK_BASE_URL", {**AWS, "AWS_REGION": "us-east-1"}, *flags)
    assert "/eu-west-3/bedrock/aws4_request" in request.headers["authorization"]
    assert "/eu.anthropic.claude-sonnet-4-6" in request.path
    assert request.json["anthropic_beta"] == ["b-1"]


def test_vertex_asks_in_the_project_and_region_of_the_settings(cli):
    cli.configure('[provider.vertex.options]\nproject = "my-project"\nregion = "europe-west1"\n')
    reply = anthropic.exchange(anthropic.text("done"))
    env = {"ANTHROPIC_VERTEX_TOKEN": "t", "CLOUD_ML_REGION": "us-east5", "GOOGLE_CLOUD_PROJECT": "other"}
    request = asked(cli, "vertex", reply, "ANTHROPIC_VERTEX_BASE_URL", env)
    assert "/projects/my-project/locations/europe-west1/publishers/anthropic/models/" in request.path


def test_gemini_is_asked_on_vertex_where_settings_name_a_project(cli):
    cli.configure('[provider.google.options]\nproject = "my-project"\nlocation = "europe-west4"\n')
    env = {"GEMINI_API_KEY": "studio", "GOOGLE_CLOUD_ACCESS_TOKEN": "vertex-token"}
    request = asked(cli, "google", google.exchange(google.text("done")), "GEMINI_BASE_URL", env)
    assert "/projects/my-project/locations/europe-west4/publishers/google/models/" in request.path
    assert request.headers["authorization"] == "Bearer vertex-token"


def test_gemini_is_asked_in_the_version_of_the_settings(cli):
    cli.configure('[provider.google.options]\napi_version = "v1alpha"\n')
    env = {"GEMINI_API_KEY": "k"}
    request = asked(cli, "google", google.exchange(google.text("done")), "GEMINI_BASE_URL", env)
    assert request.path.startswith("/v1alpha/models/")


def test_anthropic_gets_its_key_as_a_bearer_token_in_the_version_of_the_settings(cli):
    cli.configure(
        '[provider.anthropic.options]\nauth = "bearer"\nanthropic_version = 2026-10-21\n'
        'anthropic_beta = "one,two"\n'
    )
    reply = anthropic.exchange(anthropic.text("done"))
    request = asked(cli, "anthropic", reply, "ANTHROPIC_BASE_URL", {"ANTHROPIC_API_KEY": "k"})
    assert request.headers["authorization"] == "Bearer k"
    assert "x-api-key" not in request.headers
    sent = (request.headers["anthropic-version"], request.headers["anthropic-beta"])
    assert sent == ("2026-10-21", "one,two")


def test_azure_is_asked_in_the_version_of_the_settings(cli):
    cli.configure('[provider.azure.options]\napi_version = "2025-04-01-preview"\nauth = "bearer"\n')
    env = {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_API_VERSION": "2024-01-01"}
    flags = ("--model", "mine")
    request = asked(cli, "azure", chat.exchange(chat.text("done")), "AZURE_OPENAI_BASE_URL", env, *flags)
    assert request.path == "/openai/deployments/mine/chat/completions?api-version=2025-04-01-preview"
    assert request.headers["authorization"] == "Bearer k"


def test_azure_takes_a_token_of_entra_where_there_is_no_key(cli):
    env = {"AZURE_OPENAI_AD_TOKEN": "t", "OPENAI_API_VERSION": "v1"}
    reply = responses.exchange(responses.text("done"))
    request = asked(cli, "azure", reply, "AZURE_OPENAI_ENDPOINT", env, "--model", "mine")
    assert request.path == "/openai/v1/responses"
    assert request.headers["authorization"] == "Bearer t"


def test_an_endpoint_of_ones_own_has_the_options_of_its_kind(cli):
    with LoopbackServer([responses.exchange(responses.text("done"))]) as server:
        cli.configure(
            f'[provider.mine]\nkind = "openai"\nbase_url = "{server.url}/v1"\napi_key_env = "MY_KEY"\n'
            '[provider.mine.options]\napi = "responses"\nprompt_cache_key = "team"\n'
        )
        done = cli.run("--provider", "mine", "--model", "some", "-p", "hi", env={"MY_KEY": "k"})
        assert (done.code, done.out) == (0, "done\n"), done.err
        assert (server.requests[0].path, server.requests[0].json["prompt_cache_key"]) == (
            "/v1/responses",
            "team",
        )


def test_a_routing_file_has_options_above_those_of_the_settings(cli):
    cli.configure("[provider.ollama.options]\nnum_ctx = 1000\nkeep_alive = -1\n")
    (cli.home / ".config" / "caliban" / "caliban.toml").write_text(
        '[[router.route]]\npurpose = "main_loop"\nprovider = "ollama"\nmodel = "llama3.1"\n'
        "[provider.ollama.options]\nnum_ctx = 20000\n"
    )
    body = ollama_body(cli)
    assert (body["options"]["num_ctx"], body["keep_alive"]) == (20000, -1)


def test_an_unknown_key_in_a_routing_file_says_where_options_stand(cli):
    directory = cli.home / ".config" / "caliban"
    directory.mkdir(parents=True)
    (directory / "caliban.toml").write_text(
        '[[router.route]]\npurpose = "main_loop"\nprovider = "bedrock"\nmodel = "m"\n'
        '[provider.bedrock]\nregion = "eu-west-1"\n'
    )
    done = cli.run("-p", "hi")
    assert done.code == 78
    assert "[provider.bedrock] region: is not a key of this table" in done.err
    assert "[provider.bedrock.options]" in done.err


def test_the_local_model_takes_its_options_from_settings(cli):
    cli.configure("[provider.local.options]\nthreads = 0\n")
    done = cli.run("--provider", "local", "-p", "hi")
    assert done.code == 78
    assert "option 'threads' of the local provider is a whole number from 1 to 256, not '0'" in done.err


UNKNOWN = {
    "ollama": ("num_ctxx", "keep_alive, num_ctx", "num_ctx"),
    "bedrock": ("regoin", "anthropic_version, auth_refresh, extra_body, inference_profile,", "region"),
    "anthropic": ("betas", "anthropic_beta, anthropic_version, auth", None),
    "local": ("thread", "chat_template_file, context_tokens, extra_body, seed, service_tier,", "threads"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_option_is_refused_with_those_there_are(cli, name):
    option, offered, near = UNKNOWN[name]
    cli.configure(f'[provider.{name}.options]\n{option} = "x"\n')
    done = cli.run("--provider", name, "-p", "hi", "--output-format", "json")
    assert done.code == 78
    error = done.json["error"]
    assert error.startswith(
        f"[provider.{name}.options] the provider {name} has no option '{option}'; it has "
    )
    assert offered in error
    assert ("did you mean" in done.err) is (near is not None)
    assert near is None or f"did you mean {near}?" in done.err
    assert not cli.server.requests


WRONG = {
    "ollama-window": ("ollama", 'num_ctx = "many"', "num_ctx must be a whole number of tokens"),
    "ollama-share": ("ollama", "num_ctx = 0.5", "num_ctx must be a whole number of tokens"),
    "ollama-span": ("ollama", 'keep_alive = "a while"', "keep_alive is seconds, -1, or a span such as 10m"),
    "bedrock-region": ("bedrock", 'region = "eu west 1"', "'eu west 1' is not an AWS region"),
    "bedrock-profile": ("bedrock", 'inference_profile = "e/u"', "inference_profile is a geography"),
    "bedrock-refresh": ("bedrock", 'auth_refresh = "soon"', "'soon' is not a duration"),
    "vertex-region": ("vertex", 'region = "europe west"', "'europe west' is not a region of Google Cloud"),
    "vertex-project": ("vertex", 'project = "a/b"', "'a/b' is not a project's id of Google Cloud"),
    "google-location": ("google", 'project = "p"\nlocation = "a b"', "location is a location such as"),
    "google-half": ("google", 'location = "global"', "location is for Vertex, which needs a project"),
    "google-version": ("google", "api_version = 1", "'1' is not a version of the Gemini API"),
    "anthropic-auth": ("anthropic", "auth = true", "the option auth is x-api-key or bearer, not 'true'"),
    "anthropic-beta": ("anthropic", 'anthropic_beta = "a\\nb"', "the option anthropic_beta is a comma list"),
    "azure-auth": ("azure", 'auth = "x-api-key"', "the option auth is api-key or bearer, not 'x-api-key'"),
    "azure-resource": ("azure", 'resource = "a b"', "the Azure resource is no name"),
    "azure-version": ("azure", 'resource = "a"\napi_version = "a b"', "the option api_version is a version"),
    "openai-api": ("openai", 'api = "grpc"', "has no interface called 'grpc'"),
    "openai-quirks": ("openai", 'quirks = "weather=blue"', "is not known"),
    "openai-project": ("openai", 'project = "a\\nb"', "the option project is one line"),
    "foundry-resource": ("foundry", 'resource = "a b"', "'a b' is not a Foundry resource"),
}
KEYS = {
    "AZURE_OPENAI_API_KEY": "k",
    "GEMINI_API_KEY": "k",
    "OPENAI_API_KEY": "k",
    "ANTHROPIC_FOUNDRY_API_KEY": "k",
    "AWS_REGION": "eu-west-1",
    **AWS,
}


@pytest.mark.parametrize("case", WRONG)
def test_a_value_that_is_none_is_a_matter_of_configuration(cli, case):
    name, lines, complaint = WRONG[case]
    cli.configure(f"[provider.{name}.options]\n{lines}\n")
    done = cli.run("--provider", name, "-p", "hi", env=KEYS)
    assert done.code == 78, done.err
    assert complaint in done.err
    assert "Traceback" not in done.err


def test_a_value_is_no_table_and_no_list(cli):
    cli.configure("[provider.ollama.options]\nnum_ctx = [1]\n")
    done = cli.run("--provider", "ollama", "-p", "hi")
    assert done.code == 78
    assert "`provider.ollama.options.num_ctx` must be a string or an integer or a number" in done.err


@pytest.mark.parametrize("flags", [(), ("--trust-project",)])
def test_a_project_cannot_say_where_keys_go(cli, flags):
    (cli.work / ".caliban").mkdir()
    (cli.work / ".caliban" / "settings.toml").write_text(
        '[provider.anthropic.options]\nauth = "bearer"\nanthropic_version = "evil"\n'
    )
    cli.script(anthropic.exchange(anthropic.text("home")))
    done = cli.run("-p", "hi", *flags)
    assert done.out == "home\n"
    headers = cli.server.requests[0].headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("test-key", "2023-06-01")
    assert "provider.anthropic.options" in done.err


def test_a_factory_that_declares_nothing_takes_any_option(cli, tmp_path):
    site = tmp_path / "site"
    info = site / "other-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[caliban.providers]\nother = other:FACTORY\n")
    (site / "other.py").write_text(
        "import json\nfrom caliban_provider.testing.scripted import ScriptedProvider, reply\n"
        "class Factory:\n"
        "    name, default_model, needs_key, key_env, base_url_env = 'other', 'o', False, (), ()\n"
        "    def create(self, options):\n"
        "        return ScriptedProvider([reply(json.dumps(dict(options.extra), sort_keys=True))])\n"
        "FACTORY = Factory()\n"
    )
    cli.configure("[provider.other.options]\nspeed = 1.5\ndeep = true\nname = 'x'\ncount = 3\n")
    done = cli.run("--provider", "other", "-p", "hi", env={"PYTHONPATH": str(site)})
    assert (done.code, json.loads(done.out)) == (
        0,
        {"count": "3", "deep": "true", "name": "x", "speed": "1.5"},
    )


# keys that are missing, packages that are not installed

MISSING = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "google": "GEMINI_API_KEY",
    "foundry": "ANTHROPIC_FOUNDRY_API_KEY",
}


@pytest.mark.parametrize("name", MISSING)
@pytest.mark.parametrize("command", [("-p", "hi"), ("models",)])
def test_a_missing_key_names_its_variable_and_login(cli, name, command):
    done = cli.run(*command, "--provider", name, env=BARE)
    assert done.code == 78
    assert "there is no API key for " in done.err
    assert f"export {MISSING[name]}=" in done.err
    assert f"caliban login {name}" in done.err


@pytest.mark.parametrize("kind", ["openai", "anthropic", "ollama"])
def test_a_missing_key_of_an_endpoint_of_ones_own_names_the_variable_that_was_said(cli, kind):
    cli.configure(f'[provider.mine]\nkind = "{kind}"\nbase_url = "{cli.server.url}"\napi_key_env = "X_KEY"\n')
    done = cli.run("--provider", "mine", "--model", "m", "-p", "hi", env={"OPENAI_API_KEY": "other"})
    assert done.code == 78
    assert "there is no API key for mine" in done.err
    assert "export X_KEY=…, or keep it: caliban login mine" in done.err
    assert not cli.server.requests


CREDENTIALS = {
    "bedrock": ("there are no AWS credentials", "AWS_ACCESS_KEY_ID"),
    "vertex": ("there is no token for Vertex", "gcloud auth application-default login"),
}
NO_CLOUD = {**BARE, "AWS_EC2_METADATA_DISABLED": "true", "NO_GCE_CHECK": "true"}


@pytest.mark.parametrize("name", CREDENTIALS)
@pytest.mark.parametrize("command", [("-p", "hi"), ("models",)])
def test_missing_credentials_of_a_cloud_are_a_matter_of_configuration(cli, name, command):
    done = cli.run(*command, "--provider", name, env={**NO_CLOUD, "AWS_REGION": "eu-west-1"})
    assert done.code == 78, done.err
    assert all(words in done.err for words in CREDENTIALS[name])


def test_a_key_that_the_server_refuses_is_no_matter_of_configuration(cli):
    cli.script(anthropic.failure(401, "authentication_error", "invalid x-api-key"))
    assert cli.run("-p", "hi").code == 1


ABSENT = {
    "the package of bedrock": ("bedrock", "caliban_provider_bedrock", "caliban-cli[bedrock]"),
    "the package of vertex": ("vertex", "caliban_provider_vertex", "caliban-cli[vertex]"),
    "the package of foundry": ("foundry", "caliban_provider_vertex", "caliban-cli[vertex]"),
    "the package of local": ("local", "caliban_provider_local", "caliban-cli[local]"),
    "botocore": ("bedrock", "botocore", "caliban-cli[bedrock]"),
    "google-auth for Claude": ("vertex", "google.auth", "caliban-cli[vertex]"),
    "llama": ("local", "xllamacpp", "caliban-cli[local]"),
}


@pytest.mark.parametrize("case", ABSENT)
def test_what_is_not_installed_is_named_with_the_command_that_installs_it(cli, case, tmp_path):
    name, module, extra = ABSENT[case]
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{module!r}] = None\n")
    env = {**NO_CLOUD, "PYTHONPATH": str(tmp_path), "GOOGLE_CLOUD_PROJECT": "p"}
    done = cli.run("--provider", name, "-p", "hi", "--output-format", "json", env=env)
    assert done.code == 78, done.err
    assert done.json["is_error"] is True
    assert f"pip install '{extra}'" in done.err
    assert "Traceback" not in done.err


def test_gemini_on_vertex_without_its_library_says_what_to_install(cli, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['google.auth'] = None\n")
    cli.configure('[provider.google.options]\nproject = "p"\n')
    done = cli.run("--provider", "google", "-p", "hi", env={**NO_CLOUD, "PYTHONPATH": str(tmp_path)})
    assert done.code == 78
    assert "pip install 'caliban-provider-google[vertex]'" in done.err


# caliban models


# caliban doctor


def test_the_version_of_the_api_may_come_from_the_environment(cli):
    cli.script(*(anthropic.exchange(anthropic.text("ok")) for _ in range(2)))
    assert cli.run("-p", "hi", env={"ANTHROPIC_VERSION": "2026-10-21"}).code == 0
    assert cli.run("-p", "hi").code == 0
    assert [r.headers["anthropic-version"] for r in cli.server.requests] == ["2026-10-21", "2023-06-01"]
    done = cli.run("-p", "hi", env={"ANTHROPIC_VERSION": "a b"})
    assert done.code == 78
    assert "anthropic_version" in done.err
