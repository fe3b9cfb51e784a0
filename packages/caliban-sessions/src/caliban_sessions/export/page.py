"""A session as a page of its own: no script, nothing from elsewhere, every text escaped.

Its content security policy forbids everything but the one style sheet inside it, which its digest names: a
text that got past the escaping could still neither run nor load anything. Images are not shown, only named.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from html import escape
from typing import Final, assert_never

from caliban_common.message import (
    Block,
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from caliban_common.text import one_line
from caliban_sessions.export.script import Script, Step
from caliban_sessions.export.words import arguments, dollars, moment, safe, seconds, stand_in, tokens

STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
table { border-collapse: collapse; font-size: .875rem; }
th, td { text-align: left; padding: .15rem .75rem .15rem 0; vertical-align: top; overflow-wrap: anywhere; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0; }
article { border-top: 1px solid #8886; padding: .25rem 0 .75rem; unicode-bidi: isolate; }
article > pre { font: inherit; }
.facts { color: #777; font-size: .8rem; }
.user { border-left: 4px solid #2a6fdb; padding-left: .75rem; }
.assistant { border-left: 4px solid #2e8b57; padding-left: .75rem; }
.results, .system { border-left: 4px solid #8886; padding-left: .75rem; }
details pre { font-size: .85rem; background: #8881; padding: .5rem; }
.error summary { color: #c0392b; }
"""

_DIGEST: Final = b64encode(sha256(STYLE.encode()).digest()).decode("ascii")
POLICY: Final = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'"
"""What the page may load: nothing but its own style sheet."""


def as_page(script: Script) -> str:
    """One HTML document in UTF-8 that needs nothing else."""
    return "".join(_document(script))


def _document(script: Script) -> Iterator[str]:
    title = _line(script.state.title or script.state.name)
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
    yield '<meta name="referrer" content="no-referrer">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    yield from _facts(script)
    yield from _timeline(script)
    names = _names(script)
    for number, step in enumerate(script.steps, 1):
        yield from _step(number, step, names)
    yield "</body>\n</html>\n"


def _facts(script: Script) -> Iterator[str]:
    state = script.state
    rows = [
        ("session", state.name),
        ("model", f"{state.provider}/{state.model}"),
        ("directory", state.workspace),
        ("time", f"{moment(state.created_at)} to {moment(state.updated_at)}"),
        ("tokens", tokens(state.total_usage)),
        ("cost", dollars(script.cost_usd)),
        *((f"cost of {name}", dollars(cost)) for name, cost in script.by_model.items()),
        ("labels", ", ".join(state.labels)),
        ("fork of", state.forked_from.session if state.forked_from else ""),
    ]
    yield '<table class="facts">\n'
    for name, value in rows:
        if value:
            yield f"<tr><th>{_line(name)}</th><td>{_line(value)}</td></tr>\n"
    yield "</table>\n"


def _timeline(script: Script) -> Iterator[str]:
    """What was done when: each reply with its cost, each call with the time that it took."""
    rows = list(_timeline_rows(script))
    if not rows:
        return
    yield "<h2>Timeline</h2>\n<table>\n"
    yield "<tr><th>step</th><th>time</th><th>what</th><th>took</th><th>tokens</th><th>cost</th></tr>\n"
    yield from rows
    yield "</table>\n"


def _timeline_rows(script: Script) -> Iterator[str]:
    finished: dict[str, datetime] = {}
    for step in script.steps:
        finished.update(step.finished)
    before: datetime | None = None
    for number, step in enumerate(script.steps, 1):
        message = step.message
        if message.role == "assistant":
            took = seconds(before, step.at)
            usage = "" if step.usage is None else tokens(step.usage)
            cost = "" if step.usage is None else dollars(step.cost_usd)
            yield _row(number, moment(step.at), "reply", took, usage, cost)
            for call in message.tool_uses:
                ended = finished.get(call.id)
                yield _row(number, moment(ended), f"call of {call.name}", seconds(step.at, ended), "", "")
        before = step.at or before


def _row(number: int, *cells: str) -> str:
    at, what, took, usage, cost = map(_line, cells)
    return (
        f'<tr><td><a href="#s{number}">{number}</a></td><td>{at}</td><td>{what}</td>'
        f'<td class="n">{took}</td><td>{usage}</td><td class="n">{cost}</td></tr>\n'
    )


def _names(script: Script) -> Mapping[str, str]:
    return {call.id: call.name for step in script.steps for call in step.message.tool_uses}


def _step(number: int, step: Step, names: Mapping[str, str]) -> Iterator[str]:
    message = step.message
    kind = "results" if message.tool_results else message.role
    facts = [moment(step.at)] if step.at else []
    if step.usage is not None:
        facts += [tokens(step.usage), dollars(step.cost_usd)]
    yield f'<article class="{kind}" id="s{number}">\n<h2>{kind.capitalize()}</h2>\n'
    if facts:
        yield f'<div class="facts">{_line("; ".join(facts))}</div>\n'
    for block in message.content:
        yield _block(block, names, is_open=message.role != "system")
    yield "</article>\n"


def _block(block: Block, names: Mapping[str, str], *, is_open: bool) -> str:
    match block:
        case TextBlock() if is_open:
            return f"{_text(block.text)}\n"
        case TextBlock():
            return _folded("text", block.text)
        case ThinkingBlock():
            return _folded("reasoning", block.text)
        case ToolUseBlock():
            return _folded(f"call of {block.name}", arguments(block))
        case ToolResultBlock():
            text = "\n".join(
                part.text if isinstance(part, TextBlock) else stand_in(part) for part in block.content
            )
            what = "error" if block.is_error else "result"
            name = names.get(block.tool_use_id, block.tool_use_id)
            return _folded(f"{what} of {name}", text, style=' class="error"' if block.is_error else "")
        case ImageBlock() | DocumentBlock() | RedactedThinkingBlock() | OpaqueBlock():
            return f"<p>{_line(stand_in(block))}</p>\n"
        case _:
            assert_never(block)


def _folded(title: str, text: str, *, style: str = "") -> str:
    return f"<details{style}><summary>{_line(title)}</summary>{_text(text)}</details>\n"


def _text(text: str) -> str:
    """Text that keeps its lines. A line feed right behind the tag would be dropped by the parser."""
    return f'<pre dir="auto">\n{escape(safe(text))}</pre>'


def _line(text: str) -> str:
    return escape(safe(one_line(text)))
