"""Which files a prompt may bring along: what the fence and the Read rules say of a name behind an `@`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from caliban.compose.permissions import Permissions
from caliban_common.tool import ToolSpec
from caliban_tools_builtin import builtin_specs

SECRET_NAMES: Final = (
    ".env", ".envrc", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", "credentials",
    "credentials.json", "secrets.json", "secrets.toml", "secrets.yaml", "secrets.yml", "id_rsa", "id_dsa",
    "id_ecdsa", "id_ed25519",
)  # fmt: skip
SECRET_PARTS: Final = (".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud")
SECRET_ENDS: Final = (".pem", ".key", ".p12", ".pfx", ".kdbx", ".keystore", ".jks")


class AttachmentPolicy:
    """Judges files by the rules of the run. `expands` says that a person asked for files to be attached.

    Without that word only what the rules let be read without a question, inside the fence, and no secret:
    the text of a prompt on the command line may be somebody else's.
    """

    def __init__(
        self,
        permissions: Permissions,
        workspace: Path,
        roots: tuple[Path, ...],
        *,
        fenced: bool,
        expands: bool,
    ) -> None:
        self._permissions = permissions
        self._roots = tuple(root.resolve() for root in (workspace, *roots))
        self._fenced = fenced
        self._expands = expands

    def objection(self, path: Path) -> str | None:
        """Why `path` is not attached; `None` where it may be."""
        try:
            real = path.resolve()
        except (OSError, RuntimeError):
            return "it cannot be looked at"
        if self._fenced and not any(real.is_relative_to(root) for root in self._roots):
            return "it is outside of the workspace"
        decisions = [self._permissions.decide(self._reader(), {"path": str(name)}) for name in {path, real}]
        denied = next((decision for decision in decisions if decision.action == "deny"), None)
        if denied is not None and not self._permissions.may_read(str(real)):
            return f"a rule denies it: {denied.reason}"
        if not self._expands and denied is not None:
            return f"it may not be read without a question: {denied.reason}; --expand-files attaches it"
        if not self._expands and (_is_secret(path) or _is_secret(real)):
            return "it looks like a secret; --expand-files attaches it"
        return None

    def _reader(self) -> ToolSpec:
        return next(spec for spec in builtin_specs() if "reads" in spec.roles.values())


def _is_secret(path: Path) -> bool:
    name = path.name.lower()
    named = name in SECRET_NAMES or name.startswith(".env.") or name.endswith(SECRET_ENDS)
    return named or any(part.lower() in SECRET_PARTS for part in path.parts)
