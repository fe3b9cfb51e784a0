"""Ways past a list of hosts, against the proxy of the sandbox and the profile that opens its port."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping

import anyio
import pytest
from anyio.abc import ByteStream

from caliban_sandbox import FilePolicy, NetworkPolicy, SandboxError, SandboxPolicy
from caliban_sandbox.egress import EgressRefused, open_egress
from caliban_sandbox.seatbelt import seatbelt_profile

PUBLIC = "93.184.216.34"
POLICY = NetworkPolicy(allowed_hosts=("example.com", "rebind.example", "dual.example"))


class Asked:
    """What came of one request: the status, and what was dialled and refused for it."""

    def __init__(self) -> None:
        self.status = 0
        self.dialled: list[str] = []
        self.refused: list[EgressRefused] = []


def asked(host: str, names: Mapping[str, tuple[str, ...]]) -> Asked:
    """A tunnel to `host` is asked of a proxy for which names have these addresses, at which nobody is."""
    seen = Asked()

    async def resolver(name: str, port: int) -> tuple[str, ...]:
        return names[name]

    async def dial(address: str, port: int) -> ByteStream:
        seen.dialled.append(address)
        raise ConnectionRefusedError

    async def within() -> None:
        async with open_egress(
            POLICY, over="loopback", log=seen.refused.append, resolver=resolver, dial=dial
        ) as egress:
            token = b64encode(f"caliban:{egress.token}".encode()).decode()
            async with await anyio.connect_tcp("127.0.0.1", egress.port or 0) as client:
                await client.send(f"CONNECT {host}:80 HTTP/1.0\r\n".encode())
                await client.send(f"Proxy-Authorization: Basic {token}\r\n\r\n".encode())
                seen.status = int((await client.receive()).split(b" ")[1])

    anyio.run(within)
    return seen


@pytest.mark.parametrize(
    "host",
    [
        pytest.param("evilexample.com", id="s687-suffix"),
        pytest.param("example.com.evil.example", id="s687-prefix"),
        pytest.param("example.com%2eevil.example", id="s539"),
        pytest.param("[::ffff:127.0.0.1]", id="s553"),
        pytest.param("[::127.0.0.1]", id="s555"),
    ],
)
def test_a_host_that_looks_like_a_listed_one_is_refused(host):
    seen = asked(host, {})
    assert (seen.status, seen.dialled, [each.host for each in seen.refused]) == (403, [], [host])


@pytest.mark.parametrize(
    "host", [pytest.param("EXAMPLE.com.", id="s687"), pytest.param("Example.COM", id="s541")]
)
def test_another_spelling_of_a_listed_host_is_the_host(host):
    seen = asked(host, {"example.com": (PUBLIC,)})
    assert (seen.status, seen.dialled, seen.refused) == (502, [PUBLIC], [])


@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        pytest.param("rebind.example", ("127.0.0.1",), id="s689-loopback"),
        pytest.param("rebind.example", ("169.254.169.254",), id="s689-metadata"),
        pytest.param("rebind.example", (PUBLIC, "127.0.0.1"), id="s569"),
        pytest.param("dual.example", (PUBLIC, "::1"), id="s571"),
    ],
)
def test_a_listed_host_with_an_address_that_is_not_public_is_refused(host, addresses):
    seen = asked(host, {host: addresses})
    assert (seen.status, seen.dialled, [each.host for each in seen.refused]) == (403, [], [host])


@pytest.mark.parametrize(
    "entry", [pytest.param("::1", id="s690-short"), pytest.param("1:2::3:443", id="s690-port")]
)
def test_a_list_with_an_address_that_could_be_read_in_two_ways_is_refused(entry):
    async def within() -> None:
        async with open_egress(NetworkPolicy(allowed_hosts=("example.com", entry))):
            raise AssertionError

    with pytest.raises(SandboxError) as caught:
        anyio.run(within)
    assert repr(entry) in caught.value.message


@pytest.mark.parametrize(
    "path", [pytest.param("/work/.env", id="s710"), pytest.param("/work", id="s710-above")]
)
def test_a_hidden_file_is_not_moved_to_another_name_under_seatbelt(path):
    files = FilePolicy(writable=("/work",), hidden=("/work/.env",))
    profile = seatbelt_profile(SandboxPolicy(files=files))
    (name,) = (name for name, value in profile.parameters if value == path)
    rule = f'(deny file-write-unlink (literal (param "{name}")))'
    lines = profile.text.splitlines()
    assert rule in lines
    later = lines[lines.index(rule) :]
    assert [line for line in later if line.startswith("(allow") and "file-write*" in line] == []
