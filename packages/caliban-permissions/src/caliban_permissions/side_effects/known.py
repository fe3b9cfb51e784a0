"""Options in full spelling that do no more than a program's name says; any other makes the command ask.

For programs of which some options run, write or load something else: their long options may be abbreviated,
and new versions bring new ones.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from caliban_permissions.side_effects.row import Evidence, Option, Scanned

UNKNOWN = "has an option that is not known"


class Known(Struct, frozen=True):
    """The short letters and the long names; those of the rows are named there."""

    short: str
    long: str


_COPY = (
    "archive backup copy-contents debug dereference no-dereference force interactive link no-clobber "
    "no-target-directory "
    "parents preserve no-preserve recursive reflink remove-destination sparse strip-trailing-slashes "
    "suffix symbolic-link "
    "target-directory update verbose one-file-system exchange no-copy attributes-only help version"
)
_TAR = (
    "create extract get list append update delete concatenate catenate compare diff file gzip gunzip "
    "ungzip bzip2 xz lzma "
    "lzip lzop zstd compress uncompress auto-compress verbose directory exclude exclude-vcs "
    "exclude-vcs-ignores "
    "strip-components keep-old-files keep-newer-files overwrite preserve-permissions "
    "same-permissions no-same-owner "
    "no-same-permissions numeric-owner owner group mode mtime sort wildcards no-wildcards to-stdout "
    "totals dereference "
    "one-file-system one-top-level test-label format posix touch sparse anchored no-anchored "
    "no-recursion show-transformed-names "
    "show-stored-names null verbatim-files-from no-overwrite-dir skip-old-files transform xform "
    "verify help version "
    "warning checkpoint full-time utc block-number record-size blocking-factor no-auto-compress recursion"
)
_MAKE = (
    "always-make environment-overrides help ignore-errors jobs keep-going load-average max-load "
    "check-symlink-times "
    "just-print dry-run recon assume-old old-file output-sync print-data-base question no-builtin-rules "
    "no-builtin-variables silent quiet no-silent no-keep-going stop touch trace version print-directory "
    "no-print-directory what-if new-file assume-new warn-undefined-variables debug shuffle directory"
)
_CURL = (
    "silent show-error location location-trusted fail fail-early fail-with-body head get request "
    "header user-agent data "
    "data-raw data-ascii data-binary form form-string json compressed insecure max-time "
    "connect-timeout retry retry-delay "
    "retry-max-time retry-all-errors retry-connrefused write-out url include verbose user http1.0 "
    "http1.1 http2 "
    "http2-prior-knowledge http3 ipv4 ipv6 globoff no-progress-meter progress-bar referer max-redirs "
    "version help tlsv1.2 "
    "tlsv1.3 basic digest no-buffer cookie proxy range path-as-is max-filesize limit-rate "
    "speed-limit speed-time "
    "keepalive-time no-keepalive oauth2-bearer anyauth parallel proto proto-redir raw tr-encoding "
    "remove-on-error "
    "styled-output no-styled-output output output-dir ssl-reqd tcp-nodelay"
)
_KUBECTL = (
    "namespace all-namespaces output selector field-selector watch watch-only show-labels no-headers "
    "sort-by follow tail "
    "since since-time container previous timestamps ignore-not-found show-kind label-columns "
    "chunk-size request-timeout v "
    "recursive api-version help all-containers prefix limit-bytes max-log-requests containers "
    "context client short "
    "namespaced api-group categories verbs show-events show-managed-fields server-print template no-color"
)

KNOWN: Mapping[str, Known] = {
    **dict.fromkeys(
        "cp mv ln".split(), Known("abdfHilLnPpRrsStTuvxZzF", _COPY + " logical physical relative symbolic")
    ),
    "install": Known(
        "bcCdDgmopsStTvZ", _COPY + " compare directory group mode owner strip preserve-timestamps context"
    ),
    **dict.fromkeys("tar gtar".split(), Known("cxtruAdfzjJZavCkKpmOSXhlowWnGTbVNgHLRi0123456789B", _TAR)),
    **dict.fromkeys("make gmake".split(), Known("BehiJjkLlnOopqrRsStvwWdbmC", _MAKE)),
    "curl": Known("sSLfIGXHAdFkmwivuxyYzgreNbBlpaZ0123461#hVtUQjPRC", _CURL),
    **dict.fromkeys("kubectl oc".split(), Known("nAowlfLcpRhvkg", _KUBECTL)),
}


def unknown_options(name: str, scanned: Scanned) -> list[Evidence]:
    """Evidence for every option of a program that its list does not have in full spelling."""
    known = KNOWN.get(name)
    if known is None:
        return []
    long = _LONG[name]
    return [
        Evidence(option.word, option.size, UNKNOWN, scanned.argv[option.word])
        for option in scanned.options
        if not _in_list(option, known.short, long)
    ]


def _in_list(option: Option, short: str, long: frozenset[str]) -> bool:
    if not option.long:
        return option.name in short
    return option.name in long or option.name.removeprefix("no-") in long


_LONG: Mapping[str, frozenset[str]] = {name: frozenset(known.long.split()) for name, known in KNOWN.items()}
