"""What child processes get to know: places, and no secret that was not written down for them."""

from __future__ import annotations

import os
import re

import pytest

from caliban_process.environ import program_environment, shell_environment

REFUSED = re.findall(
    r"\w+",
    """ANTHROPIC_API_KEY OPENAI_API_KEY GITHUB_TOKEN AWS_SECRET_ACCESS_KEY AWS_PROFILE DB_PASSWORD PS4 IFS
    CALIBAN_DAEMON_TOKEN SSH_AUTH_SOCK LD_PRELOAD PYTHONPATH NODE_OPTIONS GIT_EXTERNAL_DIFF BASH_ENV
    PROMPT_COMMAND DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR RIPGREP_CONFIG_PATH""",
)


def test_credentials_and_interpreter_variables_do_not_reach_a_shell():
    host = {
        "PATH": "bin::/usr/bin:./x:/bin",
        "HOME": "/h",
        "LANG": "C",
        "LC_ALL": "C",
        "http_proxy": "http://proxy:3128",
        "https_proxy": "http://user:pw@proxy:3128",
        "TMPDIR": "sk-abcdefghijklmnopqrstuvwxyz",
        "LC_TOKEN": "x",
        **dict.fromkeys(REFUSED, "CANARY"),
    }
    assert shell_environment(host, {"MY_TOKEN": "listed"}) == {
        "PATH": "/usr/bin:/bin",
        "HOME": "/h",
        "LANG": "C",
        "LC_ALL": "C",
        "http_proxy": "http://proxy:3128",
        "TERM": "dumb",
        "MY_TOKEN": "listed",
    }


def test_a_program_gets_what_leads_to_a_keyring_and_no_tool_chain():
    given = {
        "PATH": "/usr/bin",
        "TERM": "xterm",
        "XDG_SESSION_TYPE": "wayland",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus",
        "GNUPGHOME": "/h/.gnupg",
        "HTTPS_PROXY": "http://proxy:3128",
    }
    kept_back = {
        "VIRTUAL_ENV": "/venv",
        "SSH_AUTH_SOCK": "/run/agent",
        "OPENAI_API_KEY": "x",
        "http_proxy": "http://user:pw@proxy:3128",
        "DISPLAY": "xoxb-looks-like-a-token",
    }
    made = program_environment({**given, **kept_back}, {"VAULT_TOKEN": "listed"})
    assert made == {**given, "VAULT_TOKEN": "listed"}


def test_without_a_search_path_a_shell_gets_one_and_a_program_none():
    assert shell_environment({}, {}) == {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "TERM": "dumb",
    }
    assert program_environment({}, {}) == {}


@pytest.mark.parametrize("make", [shell_environment, program_environment])
def test_a_search_path_of_relative_entries_only_is_replaced(make):
    path = make({"PATH": f"bin{os.pathsep}.{os.pathsep}"}, {})["PATH"]
    assert path and all(os.path.isabs(entry) for entry in path.split(os.pathsep) if entry)
