"""Lists of servers: an address and a command are what they come to, whatever they look like."""

from __future__ import annotations

from typing import Any

import pytest

from caliban.compose.servers.addresses import is_meant, resembles
from caliban.compose.servers.lists import listed_problem
from caliban_mcp import ServerConfig

MEANT = [
    ("https://*.corp.example/*", "https://mcp.corp.example/"),
    ("https://*.corp.example/*", "https://a.b.corp.example/mcp?x=1"),
    ("https://mcp.example/api/*", "https://MCP.Example/api/v1"),
    ("https://mcp.example/mcp", "https://mcp.example:443/mcp"),
    ("https://mcp.example/mcp", "https://mcp.example./mcp"),
    ("https://mcp.example", "https://mcp.example/"),
    ("https://mcp.example*", "https://mcp.example/any/thing"),
    ("http://localhost:*/*", "http://localhost:3000/mcp"),
    ("http://127.0.0.1*", "http://127.0.0.1:3000/mcp"),
    ("http://[::1]:*/*", "http://[::1]:3000/mcp"),
    ("*.corp.example/*", "https://mcp.corp.example/x"),
    ("*", "https://any.example/x"),
]
FORGED = [
    ("https://*.corp.example/*", "https://evil.example/x.corp.example/"),
    ("https://*.corp.example/*", "https://evil.example?x=.corp.example/"),
    ("https://*.corp.example/*", "https://evil.example#.corp.example/"),
    ("https://*.corp.example/*", "https://evil.example\\.corp.example/"),
    ("https://*.corp.example/*", "https://x.corp.example:p@evil.example/"),
    ("https://*.corp.example/*", "https://corp.example.evil.example/"),
    ("https://*.corp.example/*", "http://mcp.corp.example/"),
    ("https://*.corp.example/*", "https://mcp.corp.example:8443/"),
    ("https://mcp.example/api/*", "https://mcp.example/api/../admin"),
    ("https://mcp.example/api/*", "https://mcp.example/api/%2E%2e/admin"),
    ("https://mcp.example/api/*", "https://mcp.example/API/x"),
    ("https://mcp.example", "https://mcp.example/other"),
    ("https://mcp.example/*", "https://mcp.example:none/"),
    ("https://mcp.example/*", "mcp.example/x"),
]


@pytest.mark.parametrize(("pattern", "url"), MEANT)
def test_a_pattern_means_an_address_however_it_is_written(pattern: str, url: str) -> None:
    assert is_meant(pattern, url) and resembles(pattern, url)


@pytest.mark.parametrize(("pattern", "url"), FORGED)
def test_no_address_passes_for_one_that_a_pattern_means(pattern: str, url: str) -> None:
    assert not is_meant(pattern, url)


@pytest.mark.parametrize(
    "url",
    [
        "https://EVIL.example/x",
        "https://evil.example:443/x",
        "https://evil.example./x",
        "https://me@evil.example/x",
        "https://me:p@Evil.example:443/x",
        "${SITE}/x",
        "https://${HOST:-evil.example}/x",
        "https://${UNSET:-evil.example}/x",
    ],
)
def test_what_is_denied_stays_so_in_every_spelling(url: str) -> None:
    settings: dict[str, Any] = {"denied_mcp_servers": [{"url": "https://evil.example/*"}]}
    config = ServerConfig(name="x", scope="user", kind="http", url=url)
    values = {"SITE": "https://evil.example", "HOST": "evil.example"}
    assert "denied_mcp_servers" in (listed_problem(config, settings, values.get) or "")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["awslabs_core", "awslabs.core", "awslabs core"])
@pytest.mark.parametrize("kind", ["denied", "allowed"])
def test_a_name_is_that_of_the_server_or_of_its_file(name: str, kind: str) -> None:
    for entry in (name, {"name": name}):
        settings: dict[str, Any] = {f"{kind}_mcp_servers": [entry]}
        config = ServerConfig(name="awslabs_core", scope="project", command="x")
        other = ServerConfig(name="other", scope="project", command="x")
        is_denied = kind == "denied"
        assert (listed_problem(config, settings, {}.get) is not None) is is_denied  # type: ignore[arg-type]
        assert (listed_problem(other, settings, {}.get) is None) is is_denied  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("config", "is_used"),
    [
        (ServerConfig(name="x", scope="user", kind="http", url="https://${H}.corp.example/"), True),
        (ServerConfig(name="x", scope="user", kind="http", url="https://${E}x.corp.example/"), False),
        (
            ServerConfig(
                name="x", scope="user", kind="http", url="https://${U:-evil.example/}x.corp.example/"
            ),
            False,
        ),
        (ServerConfig(name="x", scope="user", kind="http", url="https://${SITE}/exactly/so"), True),
        (ServerConfig(name="x", scope="user", command="npx", args=("-y", "${PKG}")), False),
        (ServerConfig(name="x", scope="user", command="npx", args=("-y", "${GOOD}")), True),
        (ServerConfig(name="x", scope="user", command="npx", args=("-y", "good", "${HOME}")), True),
        (ServerConfig(name="x", scope="user", command="npx", args=("-y", "good", "/root")), False),
    ],
)
def test_what_is_allowed_is_what_variables_stand_for(config: ServerConfig, is_used: bool) -> None:
    settings: dict[str, Any] = {
        "allowed_mcp_servers": [
            {"url": "https://*.corp.example/*"},
            {"url": "https://${SITE}/exactly/so"},
            {"command": ["npx", "-y", "good"]},
            {"command": ["npx", "-y", "good", "${HOME}"]},
        ]
    }
    values = {"H": "mcp", "E": "evil.example/", "SITE": "s", "PKG": "evil", "GOOD": "good", "HOME": "/home/a"}
    assert (listed_problem(config, settings, values.get) is None) is is_used  # type: ignore[arg-type]
