"""Files that hold credentials: what a command may not show unasked, although it only reads.

A rule that allows Read of such a file by name lifts it.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from fnmatch import fnmatchcase

from caliban_common.lazy import lazy_pattern
from caliban_permissions.paths import folded, split

_DIRECTORIES = frozenset(
    ".ssh .gnupg .aws .azure .kube .docker .gcloud .password-store .pki .mozilla .terraform.d .secrets "
    "secrets".split()
)
_NAMES = frozenset(
    ".env .envrc .flaskenv .netrc _netrc .npmrc .yarnrc .yarnrc.yml .pypirc .pgpass .my.cnf .htpasswd "
    ".git-credentials .dockercfg .boto .s3cfg .vault-token .credentials credentials credentials.json "
    "credentials.toml credentials.yml credentials.yaml client_secret.json service-account.json "
    "service_account.json application_default_credentials.json master.key secrets.json secrets.toml "
    "secrets.yml secrets.yaml secrets.env secret.json secret.yml secret.yaml token.json auth.json "
    "mcp-tokens.json "
    "terraform.tfstate terraform.tfstate.backup .bash_history .zsh_history .python_history .psql_history "
    "shadow gshadow".split()
)
_GLOBS = (
    ".env.*",
    "*.env",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "*.gpg",
    "*.asc",
    "*.tfvars",
    "*.tfvars.json",
    "*.ovpn",
    "client_secret*.json",
    "*credentials*.json",
    "*service-account*.json",
)
_EXAMPLES = (".example", ".sample", ".template", ".dist", ".defaults", ".pub")

_CONFIGURATIONS = frozenset("config config.worktree .gitconfig .gitmodules".split())
_PASSWORDS = lazy_pattern(
    r"(?im)://[^/\s:@\"]*:[^/\s@\"]+@|://[^/\s:@\"]{20,}@|^\s*(?:extraheader|password|token)\s*=\s*\S"
)
_MAX_CHARS = 64_000


def is_secret(canonical: str) -> bool:
    """Whether a file by this canonical name usually holds credentials; an example of one does not."""
    parts = folded(split(canonical))
    return bool(parts) and (bool(_DIRECTORIES.intersection(parts)) or is_secret_name(parts[-1]))


def is_secret_name(name: str) -> bool:
    """Whether a file of this name, in lower case, usually holds credentials wherever it is."""
    if name.endswith(_EXAMPLES):
        return False
    return name in _NAMES or any(fnmatchcase(name, glob) for glob in _GLOBS)


def shows_password(path: str) -> bool:
    """Whether a file with a configuration of git holds a password, as a rule that of an address in it."""
    if path.rpartition("/")[2] not in _CONFIGURATIONS:
        return False
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:  # noqa: PTH123 - a str, for each file
            return _PASSWORDS.search(lines.read(_MAX_CHARS)) is not None
    except OSError:
        return False
