"""What the specs of the tools of the web say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from caliban_tools_builtin.facts import SAID, ToolFacts, plain, whole

FACTS: Final[Mapping[str, ToolFacts]] = {
    "WebFetch": ToolFacts(
        kind="network",
        properties={"url": plain("string"), "timeout_seconds": whole("default 60", low=1, high=300)},
        required=("url",),
        roles={"url": "url"},
        repeat_key=("url",),
        aliases={
            "uri": "url",
            "link": "url",
            "timeout": "timeout_seconds",
            "timeout_ms": "timeout_seconds",
            "timeout_s": "timeout_seconds",
        },
        extras=(*SAID, "prompt"),
        needs="web",
    ),
    "WebSearch": ToolFacts(
        kind="network",
        properties={"query": plain("string"), "max_results": whole("default 10", low=1, high=20)},
        required=("query",),
        repeat_key="all",
        aliases={"q": "query", "num_results": "max_results", "count": "max_results", "limit": "max_results"},
        needs="search",
    ),
}
