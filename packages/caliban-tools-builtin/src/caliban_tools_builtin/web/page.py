"""The text of an answer: HTML as Markdown, text as it is."""

from __future__ import annotations

import re
from typing import Final

from caliban_common.lazy import lazy_pattern
from caliban_common.text import clean
from caliban_tools_builtin.errors import WebFailed
from caliban_tools_builtin.web.charset import is_binary, said_inside, text_of

MAX_HTML_BYTES: Final = 5_000_000
MAX_DEPTH: Final = 500
_ASIDE: Final = ("nav", "footer", "aside")
_TEXT: Final = lazy_pattern(
    r"text/.*|application/(?:[\w.+-]+\+)?(?:json|xml|yaml|toml|javascript|x-www-form-urlencoded|x-ndjson)"
    r"|application/(?:x-)?(?:sh|tex|httpd-php|sql|graphql)|image/svg\+xml|message/.*"
)


def page_text(body: bytes, content_type: str, url: str) -> str:
    """`body` as text for a model. Raises `WebFailed` for what is no text."""
    kind, charset = _split(content_type)
    if not kind:
        kind = (
            "text/html"
            if body.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html"))
            else "text/plain"
        )
    if not _TEXT.fullmatch(kind) and kind != "application/xhtml+xml":
        hint = "fetch it with a command if it is needed as a file"
        raise WebFailed(f"{url} is {kind}, {len(body)} bytes: not text", hint=hint)
    is_html = kind in ("text/html", "application/xhtml+xml")
    charset = None if "json" in kind else charset or said_inside(body)  # JSON is UTF-8 (RFC 8259)
    if not is_html and is_binary(body, charset):
        hint = "fetch it with a command if it is needed as a file"
        raise WebFailed(f"{url} is said to be {kind}, and its {len(body)} bytes are not text", hint=hint)
    text = text_of(body, charset)
    return _markdown(text, url) if is_html else text


def _split(content_type: str) -> tuple[str, str | None]:
    kind, _, rest = content_type.partition(";")
    match = re.search(r"charset=\s*\"?([\w.:-]+)", rest, re.IGNORECASE)
    return kind.strip().lower(), None if match is None else match[1]


def _markdown(html: str, url: str) -> str:
    from html_to_markdown import ConversionOptions, convert

    options = ConversionOptions(
        extract_metadata=False,
        skip_images=True,
        exclude_selectors=list(_ASIDE),
        max_depth=MAX_DEPTH,
        base_url=url,
    )
    try:
        return convert(clean(html[:MAX_HTML_BYTES]), options).content or ""
    except Exception as error:
        raise WebFailed(f"the page cannot be made into text: {type(error).__name__}: {error}") from error
