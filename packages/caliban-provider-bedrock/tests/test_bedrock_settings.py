"""What options and environment mean, and where keys are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from caliban_common.message import user
from caliban_provider.call import Prepared
from caliban_provider.errors import AuthenticationError, InvalidRequest
from caliban_provider.provider import ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider_anthropic.encode import Encoder
from caliban_provider_anthropic.models import facts, same_model
from caliban_provider_bedrock.credentials import Access, ChainAccess, GivenAccess
from caliban_provider_bedrock.factory import BedrockFactory
from caliban_provider_bedrock.models import DEFAULT_MODEL, WIRE_IDS, offered, wire_id
from caliban_provider_bedrock.settings import BedrockSettings, settings_of
from caliban_provider_bedrock.sigv4 import AwsKeys
from caliban_provider_bedrock.transport import BedrockTransport

KEYS = {"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "sk"}
CLOUD = ("AWS_", "BEDROCK", "ANTHROPIC")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import os

    for name in [name for name in os.environ if name.startswith(CLOUD)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    (tmp_path / ".aws").mkdir()
    return tmp_path


def made(environ: dict[str, str], **options: Any) -> BedrockSettings:
    return settings_of(ProviderOptions(**options), environ)


async def sent(environ: dict[str, str], **options: Any) -> Prepared:
    transport = BedrockTransport(made(environ, **options))
    request = CompletionRequest(model=DEFAULT_MODEL, messages=(user("Hi"),), max_tokens=9)
    async with transport.credentials.hold():
        return transport.prepare(Encoder().body(request))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("environ", "extra", "host"),
    [
        ({"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-east-1"}, {}, "eu-west-1.amazonaws.com"),
        ({"AWS_DEFAULT_REGION": "us-east-1"}, {}, "us-east-1.amazonaws.com"),
        ({"AWS_REGION": "eu-west-1"}, {"region": "ap-south-1"}, "ap-south-1.amazonaws.com"),
        ({"AWS_REGION": "cn-north-1"}, {}, "cn-north-1.amazonaws.com.cn"),
        ({"AWS_REGION": "us-gov-west-1"}, {}, "us-gov-west-1.amazonaws.com"),
    ],
)
async def test_the_region_makes_the_host(environ: dict[str, str], extra: dict[str, str], host: str) -> None:
    prepared = await sent({**KEYS, **environ}, extra=extra)
    assert prepared.url == (
        f"https://bedrock-runtime.{host}/model/{DEFAULT_MODEL}/invoke-with-response-stream"
    )
    assert "Credential=AK/" in prepared.headers["authorization"]


@pytest.mark.parametrize("region", ["evil.example/#", "us-east-1.evil.example", "US", "us east", "a" * 90])
def test_a_region_that_is_none_never_becomes_a_host(region: str) -> None:
    with pytest.raises(InvalidRequest, match="not an AWS region"):
        made({**KEYS, "AWS_REGION": region})


@pytest.mark.parametrize("url", ["ftp://x", "bedrock.example", "https://", "https://a b", "https://a?q"])
def test_a_base_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest, match="base URL"):
        made({**KEYS, "AWS_REGION": "us-east-1"}, base_url=url)


def test_a_token_with_a_line_break_is_refused() -> None:
    with pytest.raises(AuthenticationError):
        made({"AWS_BEARER_TOKEN_BEDROCK": "a\nb"})


def test_no_secret_shows_in_the_settings() -> None:
    settings = made({**KEYS, "AWS_REGION": "us-east-1", "AWS_BEARER_TOKEN_BEDROCK": "hidden-token"})
    assert "hidden-token" not in repr(settings)


@pytest.mark.anyio
async def test_an_authorization_of_the_operator_stands_in_for_keys() -> None:
    prepared = await sent({}, base_url="https://gateway.example/bedrock/", headers={"Authorization": "G"})
    assert prepared.headers["authorization"] == "G" and "x-amz-date" not in prepared.headers
    assert prepared.url.startswith("https://gateway.example/bedrock/model/")


@pytest.mark.anyio
async def test_a_token_wins_over_keys_and_needs_no_region_at_a_gateway() -> None:
    prepared = await sent({**KEYS, "AWS_BEARER_TOKEN_BEDROCK": "t"}, base_url="http://localhost:1")
    assert prepared.headers["authorization"] == "Bearer t"


@pytest.mark.parametrize(("text", "seconds"), [("5m", 300.0), ("0", 0.0), ("90s", 90.0), ("1h", 3600.0)])
def test_the_interval_is_read_like_the_settings_write_it(text: str, seconds: float) -> None:
    assert made({**KEYS, "AWS_REGION": "us-east-1", "CALIBAN_AWS_AUTH_REFRESH": text}).refresh_s == seconds
    assert made({**KEYS, "AWS_REGION": "us-east-1"}, extra={"auth_refresh": text}).refresh_s == seconds


def test_keys_of_the_environment_need_no_library_unless_a_profile_is_named() -> None:
    environ = {**KEYS, "AWS_REGION": "us-east-1"}
    assert isinstance(made(environ).access, GivenAccess)
    assert isinstance(made(environ, extra={"profile": "work"}).access, ChainAccess)
    assert isinstance(made({"AWS_REGION": "us-east-1"}).access, ChainAccess)
    assert isinstance(made(KEYS).access, ChainAccess)


@pytest.mark.anyio
async def test_a_profile_gives_keys_and_region(home: Path) -> None:
    (home / ".aws" / "config").write_text("[profile work]\nregion = eu-north-1\n")
    (home / ".aws" / "credentials").write_text(
        "[work]\naws_access_key_id = A\naws_secret_access_key = S\naws_session_token = T\n"
    )
    access = ChainAccess(profile="work")
    grant = await access.fetch(False)
    keys = AwsKeys(access_key_id="A", secret_access_key="S", session_token="T")
    assert (grant.value, grant.expires_at_s) == (Access(keys=keys, region="eu-north-1"), None)
    (home / ".aws" / "credentials").write_text("[work]\naws_access_key_id = B\naws_secret_access_key = S2\n")
    again = await access.fetch(False)
    assert again.value.keys == AwsKeys(access_key_id="B", secret_access_key="S2")


@pytest.mark.anyio
async def test_a_region_that_is_given_wins_over_the_profiles(home: Path) -> None:
    (home / ".aws" / "config").write_text("[default]\nregion = eu-north-1\n")
    only = await ChainAccess(needs_keys=False).fetch(False)
    assert only.value == Access(region="eu-north-1")
    given = await ChainAccess(region="us-east-1", needs_keys=False).fetch(False)
    assert given.value == Access(region="us-east-1")


@pytest.mark.anyio
async def test_a_process_gives_keys_that_pass(home: Path) -> None:
    import sys

    script = home / "keys.py"
    script.write_text(
        "import json\nprint(json.dumps({'Version': 1, 'AccessKeyId': 'P', 'SecretAccessKey': 'S', "
        "'SessionToken': 'T', 'Expiration': '2099-01-01T00:00:00Z'}))\n"
    )
    line = f'credential_process = "{sys.executable}" "{script}"'.replace("\\", "/")
    (home / ".aws" / "config").write_text(f"[default]\nregion = us-east-1\n{line}\n")
    grant = await ChainAccess().fetch(False)
    assert grant.value.keys is not None and grant.value.keys.access_key_id == "P"
    assert grant.expires_at_s == 4070908800.0


@pytest.mark.anyio
async def test_no_credentials_at_all_say_what_to_set(home: Path) -> None:
    with pytest.raises(AuthenticationError, match="there are no AWS credentials") as caught:
        await ChainAccess().fetch(False)
    assert "AWS_PROFILE" in (caught.value.hint or "")


@pytest.mark.anyio
async def test_a_profile_that_is_missing_is_named(home: Path) -> None:
    with pytest.raises(AuthenticationError, match="absent"):
        await ChainAccess(profile="absent").fetch(True)


@pytest.mark.parametrize(
    ("model", "id"),
    [
        ("claude-opus-4-7", "global.anthropic.claude-opus-4-7-v1:0"),
        ("claude-haiku-4-5", "global.anthropic.claude-haiku-4-5-20251001-v1:0"),
        ("claude-haiku-4-5-20251001", "global.anthropic.claude-haiku-4-5-20251001-v1:0"),
        ("claude-opus-9", "global.anthropic.claude-opus-9"),
        ("us.anthropic.claude-opus-5-5", "us.anthropic.claude-opus-5-5"),
        ("anthropic.claude-opus-5-5", "anthropic.claude-opus-5-5"),
        (
            "arn:aws:bedrock:us-east-1:1:inference-profile/x",
            "arn:aws:bedrock:us-east-1:1:inference-profile/x",
        ),
    ],
)
def test_a_model_is_called_by_its_id(model: str, id: str) -> None:
    assert wire_id(model) == id


def test_a_profile_may_be_another_or_none() -> None:
    assert wire_id("claude-opus-5", profile="eu") == "eu.anthropic.claude-opus-5"
    assert wire_id("claude-opus-5", profile="") == "anthropic.claude-opus-5"


def test_every_known_model_has_its_row_and_is_the_model_of_its_short_name() -> None:
    for name, id in zip(WIRE_IDS, offered(), strict=True):
        assert facts(id) == facts(name) and facts(id).display_name
        assert same_model(name, id)


def test_the_default_is_a_known_model() -> None:
    assert BedrockFactory().default_model == DEFAULT_MODEL
    assert DEFAULT_MODEL in offered()
