"""Exit codes, and which end of a run gives which.

| Code | When |
|---|---|
| 0 | the run came to its end |
| 1 | provider, hook or other run-time error; the reply hit its token limit |
| 2 | the answer fails its JSON Schema; the model refused |
| 64 | wrong usage, malformed stream-json input, an empty prompt |
| 66 | the session to resume, or the input, is missing |
| 75 | the limit of turns was reached |
| 78 | wrong configuration, no credentials, standard input above 10 MiB, the session cannot be stored |
| 124 | cancelled: first SIGINT, SIGTERM, SIGHUP |
| 130 | second SIGINT |
| 137 | the budget is spent |
| 141 | whoever read standard output went away |

Codes 64, 66, 75 and 78 are those of sysexits.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from caliban_common.stop import Stop, StopKind

SUCCESS = 0
FAILURE = 1
BAD_ANSWER = 2
USAGE = 64
NO_INPUT = 66
MAX_TURNS = 75
CONFIG = 78
CANCELLED = 124
INTERRUPTED = 130
BUDGET = 137
BROKEN_PIPE = 141

CODES: Final[Mapping[StopKind, int]] = MappingProxyType(
    {
        "end_of_turn": SUCCESS,
        "max_turns": MAX_TURNS,
        "max_tokens": FAILURE,
        "budget": BUDGET,
        "cancelled": CANCELLED,
        "provider_error": FAILURE,
        "stream_idle": FAILURE,
        "hook_denied": FAILURE,
        "compaction_failed": FAILURE,
        "refusal": BAD_ANSWER,
        "content_filter": BAD_ANSWER,
        "thinking_budget": FAILURE,
        "schema_mismatch": BAD_ANSWER,
    }
)


def exit_code(stop: Stop) -> int:
    """The exit code for the end of a prompt.

    Credentials that were missed before any server was asked are a matter of configuration.
    """
    if stop.category == "authentication" and stop.status is None:
        return CONFIG
    return CODES[stop.kind]
