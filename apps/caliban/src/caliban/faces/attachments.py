"""Which files a prompt may bring along: what the fence and the Read rules say of a name behind an `@`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from caliban.cli.options import PromptOptions
from caliban.compose.permissions import Permissions
from caliban_common.tool import ToolSpec
from caliban_drive.expand import ExpandOptions
from caliban_drive.notice import Notice
from caliban_images import MediaLimits
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


def expand_options(
    prompt: PromptOptions, workspace: Path, media: MediaLimits, report: Callable[[Notice], None]
) -> ExpandOptions:
    """The bounds of what may be attached: a flag bounds texts, images and PDFs alike.

    `report` is called on the thread that attaches.
    """
    base = ExpandOptions(workspace=workspace)
    one, all_of_them = prompt.max_attach_bytes, prompt.attach_budget_bytes
    return ExpandOptions(
        workspace=workspace,
        max_file_bytes=base.max_file_bytes if one is None else one,
        budget_bytes=base.budget_bytes if all_of_them is None else all_of_them,
        max_media_bytes=base.max_media_bytes if one is None else one,
        media_budget_bytes=base.media_budget_bytes if all_of_them is None else all_of_them,
        media=media,
        left_out=lambda message: report(Notice(subtype="not_attached", message=message)),
        changed=lambda message: report(Notice(subtype="image_changed", message=message)),
    )


def _is_secret(path: Path) -> bool:
    name = path.name.lower()
    named = name in SECRET_NAMES or name.startswith(".env.") or name.endswith(SECRET_ENDS)
    return named or any(part.lower() in SECRET_PARTS for part in path.parts)
