"""Names of environment variables through which a repository would steer programs, providers or traffic.

Not a list of secrets: what a *project* may not set for the programs that are started in it, even when it is
trusted (security.md TM5, K3). A person's own settings may.
"""

from __future__ import annotations

from typing import Final

_PREFIXES: Final = (
    "ANTHROPIC_",
    "AWS_",
    "AZURE_",
    "BASH_",
    "BUN_",
    "CALIBAN_",
    "CARGO_",
    "CLAUDE_",
    "CLOUDSDK_",
    "DENO_",
    "DOCKER_",
    "DOTNET_",
    "DYLD_",
    "GCM_",
    "GEMINI_",
    "GIT_",
    "GOOGLE_",
    "GRADLE_",
    "JAVA_",
    "JDK_",
    "KUBE",
    "LD_",
    "LESS",
    "LUA_",
    "MAVEN_",
    "NPM_",
    "OLLAMA_",
    "OPENAI_",
    "OTEL_",
    "PERL",
    "PIP_",
    "PYTHON",
    "RUBY",
    "RUSTC",
    "SSH_",
    "SSL_",
    "SUDO_",
    "UV_",
    "VIRTUAL_ENV",
    "XDG_",
    "ZDOTDIR",
)
_SUFFIXES: Final = (
    "_API_BASE",
    "_API_KEY",
    "_ASKPASS",
    "_BASE_URL",
    "_CA_BUNDLE",
    "_EDITOR",
    "_ENDPOINT",
    "_ENDPOINT_URL",
    "_OPTIONS",
    "_OPTS",
    "_PAGER",
    "_PRELOAD",
    "_PROXY",
    "_SHELL",
)
_NAMES: Final = frozenset(
    (
        "BROWSER",
        "CC",
        "CDPATH",
        "CFLAGS",
        "CLASSPATH",
        "CXX",
        "EDITOR",
        "ENV",
        "FCEDIT",
        "FPATH",
        "GEM_HOME",
        "GEM_PATH",
        "GLIBC_TUNABLES",
        "GOFLAGS",
        "GOPROXY",
        "HISTFILE",
        "HOME",
        "IFS",
        "LOCPATH",
        "MAKEFLAGS",
        "MANPAGER",
        "NODE_EXTRA_CA_CERTS",
        "NODE_PATH",
        "NODE_TLS_REJECT_UNAUTHORIZED",
        "PAGER",
        "PATH",
        "PATHEXT",
        "PROMPT_COMMAND",
        "PS0",
        "PS1",
        "PS4",
        "RUSTDOCFLAGS",
        "RUSTFLAGS",
        "SHELL",
        "SHELLOPTS",
        "TEMP",
        "TERMINFO",
        "TMP",
        "TMPDIR",
        "USER",
        "VISUAL",
        "COMSPEC",
        "SYSTEMROOT",
        "WINDIR",
    )
)


def steers_programs(name: str) -> bool:
    """Whether such a variable changes what programs are, load, trust or talk to. Case does not count."""
    upper = name.upper()
    return upper in _NAMES or upper.startswith(_PREFIXES) or upper.endswith(_SUFFIXES)
