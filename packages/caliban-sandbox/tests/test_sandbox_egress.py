"""The proxy reaches what a list names, at the addresses that it has checked, and nothing else."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import anyio
import pytest
from anyio import EndOfStream
from egress_kit import DEAD, PUBLIC, Net, Recorder, ask, connected, echo, listening, proxied, status
from hang_guard import HANG_S

from caliban_sandbox import NetworkPolicy, SandboxError
from caliban_sandbox.egress import EgressRefused, ProxyLimits, open_egress

pytestmark = pytest.mark.anyio

NAMES = {
    "a.example": (PUBLIC,),
    "www.below.example": (PUBLIC,),
    "secret.below.example": (PUBLIC,),
    "two.example": (DEAD, PUBLIC),
    "odd.example": (PUBLIC, "127.0.0.1"),
    "none.example": (),
    "home.example": ("10.0.0.7",),
    "metadata.example": ("169.254.169.254",),
    "mapped.example": ("::ffff:10.0.0.1",),
    "listed-address.example": ("::ffff:8.8.4.4",),
    "unlisted.example": (PUBLIC,),
}
POLICY = NetworkPolicy(
    allowed_hosts=(
        *("a.example", "*.below.example", "two.example", "odd.example", "none.example", "home.example"),
        *("metadata.example", "mapped.example", "listed-address.example", "absent.example", "8.8.8.8"),
        *("10.0.0.8", "[::1]", "10.0.0.9"),
    ),
    denied_hosts=("secret.below.example", "8.8.4.4"),
    private_hosts=("home.example", "10.0.0.9"),
)


def get(host: str, path: str = "/") -> bytes:
    return f"GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


def connect(place: str) -> bytes:
    return f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode()


async def test_plain_http_goes_to_the_address_that_was_checked():
    server = Recorder()
    async with proxied(POLICY, server.serve, NAMES) as (egress, net):
        assert await ask(egress, get("a.example", "/x?y")) == server.reply
        assert server.received == [b"GET /x?y HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"]
        assert (net.looked_up, net.dialled, net.refused) == (["a.example"], [(PUBLIC, 80)], [])


async def test_a_tunnel_passes_bytes_on_both_ways_and_ends_each_way_for_itself():
    async with proxied(POLICY, echo, NAMES) as (egress, net):
        async with await connected(egress) as client:
            await client.send(connect("www.below.example:443") + b"early ")
            answer = b"HTTP/1.1 200 Connection established\r\n\r\nearly "
            got = b""
            while len(got) < len(answer):
                got += await client.receive()
            assert got == answer
            await client.send(b"late")
            await client.send_eof()
            assert await client.receive() == b"late"
            with pytest.raises(EndOfStream):
                await client.receive()
        assert (net.dialled, net.refused) == ([(PUBLIC, 443)], [])


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("unlisted.example:443", "unlisted.example is not in sandbox.network.allowed_domains"),
        pytest.param("eviltwo.example:443", "is not in sandbox.network.allowed_domains", id="s687-suffix"),
        pytest.param("two.example.evil:443", "is not in sandbox.network.allowed_domains", id="s687-prefix"),
        ("secret.below.example:443", "secret.below.example is in sandbox.network.denied_domains"),
        ("a.example:22", "a.example:22 is refused: only the ports 80 and 443"),
        ("odd.example:443", "odd.example leads to 127.0.0.1, no public address"),
        pytest.param("metadata.example:80", "leads to 169.254.169.254, no public address", id="s689"),
        ("mapped.example:443", "mapped.example leads to ::ffff:10.0.0.1, no public address"),
        ("listed-address.example:443", "leads to ::ffff:8.8.4.4, which is in sandbox.network.denied_domains"),
        ("10.0.0.8:80", "10.0.0.8 is no public address, and is not in sandbox.network.private_domains"),
        ("[::1]:80", "[::1] is no public address, and is not in sandbox.network.private_domains"),
        ("127.0.0.1:80", "127.0.0.1 is not in sandbox.network.allowed_domains"),
        ("8.8.4.4:80", "8.8.4.4 is in sandbox.network.denied_domains"),
        ("2130706433:80", "2130706433 is no host that can be compared"),
        ("[::ffff:127.0.0.1]:80", "[::ffff:127.0.0.1] is no host that can be compared"),
        ("a.example%00.evil:80", "a.example%00.evil is no host that can be compared"),
    ],
)
async def test_what_may_not_be_reached_is_refused_in_words_that_name_it(place, words):
    async with proxied(POLICY, echo, NAMES) as (egress, net):
        tunnel = await ask(egress, connect(place))
        again = await ask(egress, get(place))
        host, _, port = place.rpartition(":")
        assert (status(tunnel), status(again), net.dialled) == (403, 403, [])
        assert words in tunnel.decode().partition("\r\n")[0]
        assert words in tunnel.decode().partition("\r\n\r\n")[2]
        (refused,) = net.refused
        assert refused == EgressRefused(host=host, port=int(port), reason=refused.reason)
        assert words in refused.reason


@pytest.mark.parametrize(
    ("place", "dialled"),
    [
        ("two.example:443", [(DEAD, 443), (PUBLIC, 443)]),
        ("home.example:80", [("10.0.0.7", 80)]),
        ("8.8.8.8:443", [("8.8.8.8", 443)]),
        ("10.0.0.9:443", [("10.0.0.9", 443)]),
        pytest.param("A.EXAMPLE.:443", [(PUBLIC, 443)], id="s687-final-dot"),
    ],
)
async def test_what_is_listed_is_dialled_address_after_address(place, dialled):
    async with proxied(POLICY, echo, NAMES) as (egress, net):
        async with await connected(egress) as client:
            await client.send(connect(place))
            assert (await client.receive()).startswith(b"HTTP/1.1 200 ")
        assert (net.dialled, net.refused) == (dialled, [])


@pytest.mark.parametrize("host", ["absent.example", "none.example"])
async def test_a_name_without_addresses_is_a_fault_of_the_network_and_no_refusal(host):
    async with proxied(POLICY, echo, NAMES) as (egress, net):
        answer = await ask(egress, connect(f"{host}:443"))
        assert answer.startswith(b"HTTP/1.1 502 " + host.encode())
        assert (net.dialled, net.refused) == ([], [])


async def test_a_server_that_is_not_there_is_a_fault_of_the_network():
    names = {"a.example": (DEAD,)}
    async with proxied(POLICY, echo, names) as (egress, net):
        assert (await ask(egress, connect("a.example:443"))).startswith(b"HTTP/1.1 502 a.example:443 ")
        assert net.refused == []


async def test_each_host_is_told_once():
    async with proxied(POLICY, echo, NAMES) as (egress, net):
        for place in ("unlisted.example:443", "unlisted.example:80", "UNLISTED.example.:443", "a.example:22"):
            assert status(await ask(egress, connect(place))) == 403
        assert [refused.host for refused in net.refused] == ["unlisted.example", "a.example"]


async def test_an_empty_policy_reaches_nothing():
    async with proxied(NetworkPolicy(private_hosts=("a.example",)), echo, NAMES) as (egress, net):
        assert status(await ask(egress, connect("a.example:443"))) == 403
        assert (net.looked_up, net.dialled) == ([], [])


@pytest.mark.parametrize("field", ["allowed_hosts", "denied_hosts", "private_hosts"])
async def test_a_list_with_what_is_no_host_is_refused_before_anything_listens(field):
    with pytest.raises(SandboxError, match=r"'https://a\.example' is no host"):
        async with open_egress(NetworkPolicy(**{field: ("https://a.example",)})):
            raise AssertionError


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\n"
        b"helloGET http://unlisted.example/ HTTP/1.1\r\nHost: unlisted.example\r\n\r\n",
        b"POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"5\r\nhello\r\n0\r\n\r\nGET http://unlisted.example/ HTTP/1.1\r\nHost: unlisted.example\r\n\r\n",
    ],
)
async def test_nothing_behind_the_body_of_a_request_is_passed_on(request_bytes):
    server = Recorder()
    async with proxied(POLICY, server.serve, NAMES) as (egress, net):
        assert await ask(egress, request_bytes) == server.reply
        (received,) = server.received
        assert b"unlisted" not in received
        assert b"hello" in received
        assert (net.dialled, net.refused) == ([(PUBLIC, 80)], [])


@pytest.mark.parametrize(
    "body",
    [
        b"5;x=y\r\nhello\r\n0\r\n\r\n",
        b"5 \r\nhello\r\n0\r\n\r\n",
        b"+5\r\nhello\r\n0\r\n\r\n",
        b"0x5\r\nhello\r\n0\r\n\r\n",
        b"5\nhello\r\n0\r\n\r\n",
        b"5\r\nhelloX0\r\n\r\n",
        b"5\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n",
        b"fffffffffffffffffff\r\nhello",
        b"\r\n\r\n",
    ],
)
async def test_chunks_that_others_could_read_otherwise_end_the_request(body):
    seen = anyio.Event()

    async def swallow(client) -> None:
        async with client:
            try:
                while True:
                    received.append(await client.receive())
            except (EndOfStream, anyio.BrokenResourceError):
                seen.set()

    received: list[bytes] = []
    head = b"POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n"
    brief = ProxyLimits(linger_s=0.01)  # this client would go on sending for ever
    async with proxied(POLICY, swallow, NAMES, limits=brief) as (egress, _):
        assert await ask(egress, head + body) == b""
        await seen.wait()
        assert not b"".join(received).endswith(b"0\r\n\r\n")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET http://a.example/ HTTP/1.1\nHost: a.example\n\n",
        b"GET http://a.example/\x00 HTTP/1.1\r\n",
        b"GET http://a.example/ HTTP/1.1\r\nX: " + b"x" * 33_000,
        b"x" * 40_000,
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 20,
        b"\x05\x01\x00\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_answered_at_once_although_nothing_ends(request_bytes):
    async with proxied(POLICY, echo, NAMES) as (egress, net):
        answer = await ask(egress, request_bytes)
        assert (status(answer), net.looked_up, net.dialled, net.refused) == (400, [], [], [])


async def test_a_head_that_does_not_end_is_given_up():
    limits = ProxyLimits(head_s=0.05)
    async with proxied(POLICY, echo, NAMES, limits=limits) as (egress, _):
        assert (await ask(egress, b"GET http://a.ex")).startswith(
            b"HTTP/1.1 400 the head of the request took"
        )


@pytest.mark.parametrize("ended", [True, False])
async def test_a_tunnel_in_which_nothing_moves_is_ended(ended):
    async def silent(client) -> None:
        async with client:
            await anyio.sleep_forever()

    limits = ProxyLimits(half_closed_s=0.05) if ended else ProxyLimits(idle_s=0.05)
    async with (
        proxied(POLICY, silent, NAMES, limits=limits) as (egress, _),
        await connected(egress) as client,
    ):
        await client.send(connect("a.example:443"))
        assert (await client.receive()).startswith(b"HTTP/1.1 200 ")
        if ended:
            await client.send_eof()
        with pytest.raises(EndOfStream):
            await client.receive()


async def test_more_clients_than_the_bound_wait_until_one_has_gone():
    limits = ProxyLimits(connections=2)
    async with proxied(POLICY, echo, NAMES, limits=limits) as (egress, _):
        idle = [await connected(egress) for _ in range(300)]
        answers: list[bytes] = []

        async def late() -> None:
            answers.append(await ask(egress, connect("unlisted.example:443")))

        async with anyio.create_task_group() as group:
            group.start_soon(late)
            await anyio.wait_all_tasks_blocked()
            assert answers == []
            for client in idle:
                await client.aclose()
        assert [status(answer) for answer in answers] == [403]


async def test_the_socket_is_for_its_owner_and_gone_with_the_block():
    async with open_egress(POLICY) as egress:
        assert egress.socket is not None
        path = Path(egress.socket)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert os.listdir(path.parent) == [path.name]
        assert (egress.port, egress.token) == (None, None)
    assert not path.parent.exists()


async def test_a_place_for_temporary_files_with_a_long_path_is_not_used(tmp_path, monkeypatch):
    import tempfile

    long = tmp_path / ("x" * 90)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    async with open_egress(POLICY) as egress:
        assert len(egress.socket or "") < 108
        assert status(await ask(egress, connect("unlisted.example:443"))) == 403


async def test_what_the_block_raises_comes_out_of_it_as_it_was():
    with pytest.raises(KeyError):
        async with open_egress(POLICY):
            raise KeyError("x")


@pytest.mark.parametrize(
    "credentials",
    [None, "Basic", "Basic x", "Bearer {}", "Basic {}x", "Basic \xe9", "basic  "],
)
async def test_over_a_port_of_this_machine_a_client_without_the_token_reaches_nothing(credentials):
    async with proxied(POLICY, echo, NAMES, over="loopback") as (egress, net):
        token = b64encode(f"caliban:{egress.token}".encode()).decode()
        line = "" if credentials is None else f"Proxy-Authorization: {credentials.format(token)}\r\n"
        request = connect("a.example:443")[:-2] + f"{line}\r\n".encode("latin-1")
        answer = await ask(egress, request)
        assert status(answer) == 407
        assert b"\r\nProxy-Authenticate: Basic " in answer
        assert (net.looked_up, net.refused) == ([], [])


async def test_over_a_port_of_this_machine_the_token_is_shown_and_goes_no_further():
    server = Recorder()
    async with proxied(POLICY, server.serve, NAMES, over="loopback") as (egress, _):
        assert egress.socket is None
        token = b64encode(f"caliban:{egress.token}".encode()).decode()
        request = get("a.example")[:-2] + f"proxy-authorization: basic {token}\r\n\r\n".encode()
        assert await ask(egress, request) == server.reply
        assert b"authorization" not in server.received[0].lower()


async def test_a_proxy_of_the_operator_gets_what_comes_as_it_is():
    async with listening(echo) as port:
        net = Net({}, port)
        async with (
            open_egress(NetworkPolicy(proxy_port=8888), resolver=net.resolver, dial=net.dial) as egress,
            await connected(egress) as client,
        ):
            await client.send(b"anything \x00")
            assert await client.receive() == b"anything \x00"
        assert (net.dialled, net.looked_up) == ([("127.0.0.1", 8888)], [])


async def test_a_proxy_of_the_operator_that_is_not_there_ends_the_connection():
    async def nobody(address: str, port: int):
        raise ConnectionRefusedError

    async with open_egress(NetworkPolicy(proxy_port=8888), dial=nobody) as egress:
        assert await ask(egress, b"x") == b""


async def test_no_variable_leads_the_proxy_to_another_one(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://192.0.2.9:1")
    async with proxied(POLICY, Recorder().serve, NAMES) as (egress, net):
        assert status(await ask(egress, get("a.example"))) == 200
        assert net.dialled == [(PUBLIC, 80)]


STARVED = """
import anyio, resource
from egress_kit import ask, connected, status
from caliban_sandbox import NetworkPolicy
from caliban_sandbox.egress import ProxyLimits, open_egress

async def main():
    async with open_egress(NetworkPolicy(), over={over!r}, limits=ProxyLimits(head_s=0.05)) as egress:
        held = []
        try:
            while True:
                held.append(await connected(egress))
        except OSError:
            pass
        for client in held:
            await client.aclose()
        print(status(await ask(egress, b"CONNECT a.example:443 HTTP/1.0\\r\\n\\r\\n")))

resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
anyio.run(main, backend={backend!r})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
@pytest.mark.parametrize(("over", "answer"), [("socket", "403"), ("loopback", "407")])
def test_a_process_without_descriptors_serves_again_once_it_has_some(over, answer, anyio_backend):
    code = STARVED.format(over=over, backend=anyio_backend)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    assert (done.returncode, done.stdout.strip()) == (0, answer), done.stderr
