"""Names of environment variables that a repository may set for the programs that are started in it.

A list of the harmless, not of the dangerous: every runtime has a variable that loads code, names a file or
sends traffic elsewhere, and new ones come with each version (security.md TM5, K3). A person's own settings
may set any.
"""

from __future__ import annotations

from typing import Final

_NAMES: Final = frozenset(
    (
        "APP_ENV",
        "CARGO_INCREMENTAL",
        "CARGO_TERM_COLOR",
        "CGO_ENABLED",
        "CI",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "DEBUG",
        "ENVIRONMENT",
        "FLASK_DEBUG",
        "FLASK_ENV",
        "FORCE_COLOR",
        "GOARCH",
        "GOMAXPROCS",
        "GOOS",
        "LANG",
        "LANGUAGE",
        "LINES",
        "LOGLEVEL",
        "LOG_FORMAT",
        "LOG_LEVEL",
        "MIX_ENV",
        "NODE_ENV",
        "NO_COLOR",
        "OMP_NUM_THREADS",
        "PORT",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "PYTHONUNBUFFERED",
        "PYTHONUTF8",
        "RACK_ENV",
        "RAILS_ENV",
        "RAYON_NUM_THREADS",
        "RUST_BACKTRACE",
        "RUST_LOG",
        "SOURCE_DATE_EPOCH",
        "TZ",
        "VERBOSE",
    )
)


def is_harmless(name: str) -> bool:
    """Whether such a variable only says how programs count, log, colour or speak, and names nothing to load.

    As it is written: where case counts, another spelling is another variable.
    """
    return name in _NAMES or (name.startswith("LC_") and name.isascii() and name[3:].isalpha())
