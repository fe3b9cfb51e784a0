"""Where hooks may go, and what they may send."""

from __future__ import annotations

import pytest

from caliban_hooks import Addresses, BadHook, HookSpec, PostAnswer, PostRequest, read_patterns


async def post(request: PostRequest) -> PostAnswer:
    return PostAnswer(status=200, body=b"{}")


def check(url: str, *patterns: str, headers: dict[str, str] | None = None) -> None:
    addresses = Addresses(
        post=post, allowed=read_patterns(patterns), env={"TOKEN": "abc", "ODD": "a\r\nb: c"}
    )
    addresses.check(HookSpec(event="Stop", kind="http", place="here", url=url, headers=headers or {}))


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        ("https://hooks.example.com/x", "https://hooks.example.com/*"),
        ("https://hooks.example.com/x", "https://hooks.example.com"),
        ("https://hooks.example.com", "https://hooks.example.com/"),
        ("https://a.b.example.com/x", "https://*.example.com/x"),
        ("http://127.0.0.1:8080/a/b?c=d", "http://127.0.0.1:8080/a/*"),
        ("https://hooks.example.com:443/x", "https://Hooks.Example.com/x*"),
    ],
)
def test_what_is_listed_may_be_asked(url: str, pattern: str) -> None:
    check(url, pattern)


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        ("https://hooks.example.com.evil.example/x", "https://hooks.example.com/*"),
        ("http://hooks.example.com/x", "https://hooks.example.com/*"),
        ("https://hooks.example.com:8443/x", "https://hooks.example.com/*"),
        ("https://hooks.example.com@evil.example/x", "https://hooks.example.com/*"),
        ("https://evil.example/hooks.example.com/", "https://hooks.example.com/*"),
        ("https://example.com/x", "https://*.example.com/x"),
        ("https://evilexample.com/x", "https://*.example.com/x"),
        ("https://hooks.example.com/a/../b", "https://hooks.example.com/a/*"),
        ("https://hooks.example.com\\@evil.example/", "https://hooks.example.com/*"),
        ("https://hooks.example.com/${TOKEN}", "https://hooks.example.com/*"),
        ("https://hooks.example.com/b", "https://hooks.example.com/a*"),
        ("https://hooks.example.com/#x", "https://hooks.example.com/*"),
        ("https://hooks.example.com/x y", "https://hooks.example.com/*"),
        ("https://[::1/x", "https://hooks.example.com/*"),
        ("https://hooks.example.com:99999/x", "https://hooks.example.com/*"),
        ("file:///etc/passwd", "https://hooks.example.com/*"),
        ("", "https://hooks.example.com/*"),
    ],
)
def test_what_is_not_listed_may_not(url: str, pattern: str) -> None:
    with pytest.raises(BadHook):
        check(url, pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "https://hooks.example.com*",
            "https://*",
            "https://hooks.*.com/",
            "*",
            "https://",
            "hooks.example.com",
        ),
        *(
            "https://a.example:x/",
            "https://u@a.example/",
            "ftp://a.example/",
            "https://*example.com/",
            "https://*./",
        ),
        *("https://a.example:0/", "https://[::1]/", ""),
    ],
)
def test_s741_a_pattern_that_would_mean_more_than_it_says_is_refused(pattern: str) -> None:
    with pytest.raises(BadHook, match="allowed_http_hook_urls"):
        read_patterns([pattern])


@pytest.mark.parametrize(
    "headers",
    [
        {"X": "${AWS_SECRET_ACCESS_KEY}"},
        {"X": "$HOME"},
        {"X": "${ODD}"},
        {"X": "a\nb"},
        {"A B": "x"},
        {"": "x"},
        {"X": "é"},
    ],
)
def test_s745_a_header_sends_what_is_listed_and_nothing_else(headers: dict[str, str]) -> None:
    check("https://a.example/x", "https://a.example/*", headers={"Authorization": "Bearer ${TOKEN}"})
    with pytest.raises(BadHook):
        check("https://a.example/x", "https://a.example/*", headers=headers)
