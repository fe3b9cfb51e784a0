"""What child processes get to know: places, and no secret that was not written down for them."""

from __future__ import annotations

import os
import re

import pytest

from caliban_process.environ import (
    private_variables,
    program_environment,
    secret_variables,
    shell_environment,
)

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
    assert shell_environment(host, {"MY_TOKEN": "listed"}, strict=True) == {
        "PATH": "/usr/bin:/bin",
        "HOME": "/h",
        "LANG": "C",
        "LC_ALL": "C",
        "http_proxy": "http://proxy:3128",
        "TERM": "dumb",
        "MY_TOKEN": "listed",
    }


SECRETS = {
    "ANTHROPIC_API_KEY": "x",
    "GITHUB_TOKEN": "x",
    "MYTOKEN": "x",
    "mysecret": "x",
    "DB_PASSWORD": "x",
    "MYSQL_PWD": "x",
    "SMTP_PASS": "x",
    "NPM_CONFIG__AUTH": "x",
    "AWS_SESSION_TOKEN": "x",
    "AWS_PROFILE": "x",
    "GOOGLE_APPLICATION_CREDENTIALS": "/h/key.json",
    "SSH_AUTH_SOCK": "/run/agent",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus",
    "PLAIN": "ghp_0123456789abcdefghijklmn",
    "REMOTE_URL": "postgres://app:word@db.example.com/app",
    "HELD": "Bearer what-we-hold",
}
STEERING = {
    "BASH_ENV": "/h/x",
    "BASH_FUNC_ls%%": "() { :; }",
    "ENV": "/h/x",
    "IFS": "x",
    "PS4": "$(x)",
    "SHELLOPTS": "xtrace",
    "CDPATH": "/",
    "PWD": "/elsewhere",
    "EDITOR": "vim",
    "CALIBAN_SHELL": "x",
}
ORDINARY = {
    "HOME": "/h",
    "PATH": "/usr/bin",
    "PYTHONPATH": "src",
    "DJANGO_SETTINGS_MODULE": "site.settings",
    "VIRTUAL_ENV": "/venv",
    "DATABASE_URL": "postgres://app:app@localhost:5432/app",
    "REDIS_URL": "redis://cache:6379/0",
    "GIT_AUTHOR_NAME": "A",
    "TOKENIZERS_PARALLELISM": "false",
    "XKB_KEYMAP": "us",
    "KEYBOARD_LAYOUT": "us",
    "XDG_SESSION_TYPE": "wayland",
    "DESKTOP_SESSION": "gnome",
    "MONOREPO_ROOT": "/src",
    "EMPTY": "",
}


def test_a_command_gets_the_environment_of_a_person_without_secrets():
    host = {**SECRETS, **STEERING, **ORDINARY}
    made = shell_environment(host, {"SSH_AUTH_SOCK": "listed"}, is_held=lambda value: "what-we-hold" in value)
    assert made == {**ORDINARY, "TERM": "dumb", "SSH_AUTH_SOCK": "listed"}


ACCOUNTS = {
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:8080/v1",
    "ANTHROPIC_MODEL": "claude-sonnet-4-5-20250929",
    "AWS_REGION": "us-east-1",
    "AZURE_OPENAI_ENDPOINT": "https://one.openai.azure.com/",
    "CALIBAN_WEBHOOK": "https://example.com/x",
    "OPENAI_ORG_ID": "org-1234567890",
}


def test_the_variables_with_secrets_are_named():
    host = {
        name: value
        for name, value in SECRETS.items()
        if name not in ("HELD", "DBUS_SESSION_BUS_ADDRESS", "AWS_PROFILE")
    }
    headers = {"ANTHROPIC_CUSTOM_HEADERS": "X-Team: 12345678"}
    assert secret_variables({**host, **headers, **ACCOUNTS, **ORDINARY}) == {**host, **headers}


def test_no_child_gets_what_an_account_is_reached_by():
    assert shell_environment({**ACCOUNTS, "HOME": "/h", "PATH": "/usr/bin"}, {}) == {
        "HOME": "/h",
        "PATH": "/usr/bin",
        "TERM": "dumb",
    }
    assert private_variables({**ACCOUNTS, **ORDINARY}) == set(ACCOUNTS)


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
