"""The settings of the sandbox. Only a person opens it; a project may turn it on and close more."""

from __future__ import annotations

from typing import Final

from caliban_settings.key import FLAG, PERSON, TEXT, TEXTS, Key

SANDBOX_KEYS: Final[tuple[Key, ...]] = (
    Key(
        path="sandbox.enabled",
        form=FLAG,
        merge="strictest",
        guard="tighten",
        default=False,
        restart=True,
        doc="Run commands, searches and their like in a sandbox of the operating system.",
    ),
    Key(
        path="sandbox.fail_if_unavailable",
        form=FLAG,
        merge="strictest",
        guard="tighten",
        default=False,
        restart=True,
        doc="Do not start where the sandbox does not hold, instead of warning.",
    ),
    Key(
        path="sandbox.auto_allow_bash_if_sandboxed",
        form=FLAG,
        scopes=PERSON,
        default=False,
        restart=True,
        doc="Ask about no command that really runs in the whole sandbox; rules that deny or ask hold.",
    ),
    Key(
        path="sandbox.allow_unsandboxed_commands",
        form=TEXTS,
        merge="join",
        scopes=PERSON,
        restart=True,
        doc="Programs, or whole commands where a pattern has a space, that run outside; it allows none.",
    ),
    Key(
        path="sandbox.enable_weaker_nested_sandbox",
        form=FLAG,
        scopes=PERSON,
        default=False,
        restart=True,
        doc="Do without a user namespace, for containers that refuse one: it holds less.",
    ),
    Key(path="sandbox.bwrap_path", form=TEXT, scopes=PERSON, restart=True, doc="Where bubblewrap is."),
    Key(
        path="sandbox.sandbox_exec_path", form=TEXT, scopes=PERSON, restart=True, doc="Where sandbox-exec is."
    ),
    Key(
        path="sandbox.filesystem.allow_read",
        form=TEXTS,
        merge="join",
        scopes=PERSON,
        restart=True,
        doc="All that may be read; without it the whole disk, but for what is hidden.",
    ),
    Key(
        path="sandbox.filesystem.deny_read",
        form=TEXTS,
        merge="join",
        restart=True,
        doc="Hidden, beside keys, tokens, histories and our own files.",
    ),
    Key(
        path="sandbox.filesystem.allow_write",
        form=TEXTS,
        merge="join",
        scopes=PERSON,
        restart=True,
        doc="May be written, beside the workspace, additional directories and a private /tmp.",
    ),
    Key(
        path="sandbox.filesystem.deny_write",
        form=TEXTS,
        merge="join",
        restart=True,
        doc="Not written, beside what decides what runs later.",
    ),
    Key(
        path="sandbox.network.allowed_domains",
        form=TEXTS,
        merge="join",
        scopes=PERSON,
        restart=True,
        doc="Hosts that may be reached, or *.name for those below one; without it none.",
    ),
    Key(
        path="sandbox.network.denied_domains",
        form=TEXTS,
        merge="join",
        restart=True,
        doc="Hosts that may not be reached, whatever else is allowed.",
    ),
    Key(
        path="sandbox.network.private_domains",
        form=TEXTS,
        merge="join",
        scopes=PERSON,
        restart=True,
        doc="Of the allowed hosts, those whose addresses need not be public.",
    ),
    Key(
        path="sandbox.network.http_proxy_port",
        form={"type": "integer", "minimum": 1, "maximum": 65535},
        scopes=PERSON,
        restart=True,
        doc="A proxy of your own on 127.0.0.1, in the place of ours.",
    ),
    Key(
        path="sandbox.network.allow_unix_sockets",
        form=FLAG,
        scopes=PERSON,
        default=False,
        restart=True,
        doc="Sockets with a path, such as that of a Docker daemon, which is as good as root.",
    ),
    Key(
        path="sandbox.network.allow_local_binding",
        form=FLAG,
        scopes=PERSON,
        default=False,
        restart=True,
        doc="Listen on ports (macOS; bubblewrap gives a loopback of its own).",
    ),
    Key(
        path="sandbox.network.allow_mach_lookup",
        form=TEXTS,
        merge="join",
        scopes=PERSON,
        restart=True,
        doc="Mach services that may be looked up (macOS).",
    ),
)
