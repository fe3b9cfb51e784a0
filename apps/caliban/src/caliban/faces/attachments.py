"""Which files a prompt may attach: what the fence and the Read rules say about a name after `@`."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from caliban.cli.options import PromptOptions
from caliban.compose.permissions import Permissions
from caliban_common.files import FileFailed, NotRegularFile, failed, is_special, read_opened, read_regular
from caliban_common.tool import ToolSpec
from caliban_drive.expand import ExpandOptions
from caliban_drive.notice import Notice
from caliban_images import MediaLimits
from caliban_tools_builtin import FileMissing, FileRefused, PathRefused, builtin_specs
from caliban_tools_builtin.fence import AdmittedPath, Fence

SECRET_NAMES: Final = (
    ".env", ".envrc", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", "credentials",
    "credentials.json", "secrets.json", "secrets.toml", "secrets.yaml", "secrets.yml", "id_rsa", "id_dsa",
    "id_ecdsa", "id_ed25519", "mcp-tokens.json",
)  # fmt: skip
SECRET_PARTS: Final = (".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud")
SECRET_ENDS: Final = (".pem", ".key", ".p12", ".pfx", ".kdbx", ".keystore", ".jks")


class AttachmentPolicy:
    """Judges files by the rules of the run. `expands` says that a person asked for files to be attached.

    Without that word only what the rules let be read without a question, inside the `fence`, and no secret:
    the text of a prompt on the command line may be somebody else's. What is read is what was judged: a link
    that was planted meanwhile is not followed.
    """

    def __init__(self, permissions: Permissions, fence: Fence, *, expands: bool) -> None:
        self._permissions = permissions
        self._fence = fence
        self._expands = expands
        self._admitted: dict[Path, AdmittedPath] = {}

    def objection(self, path: Path) -> str | None:
        """Why `path` is not attached; `None` where it may be."""
        try:
            place = self._fence.admit(os.fspath(path))
        except PathRefused as error:
            if is_special(path):
                return None  # `read` refuses it in words, and the prompt with it
            return error.message.removeprefix(f"{os.fspath(path)!r} ")
        self._admitted[path] = place
        real = place.path
        decisions = [self._permissions.decide(self._reader(), {"path": str(name)}) for name in {path, real}]
        denied = next((decision for decision in decisions if decision.action == "deny"), None)
        if denied is not None and not self._permissions.may_read(str(real)):
            return f"a rule denies it: {denied.reason}"
        if not self._expands and denied is not None:
            return f"it may not be read without a question: {denied.reason}; --expand-files attaches it"
        if not self._expands and (_is_secret(path) or _is_secret(real)):
            return "it looks like a secret; --expand-files attaches it"
        return None

    def read(self, path: Path, max_bytes: int) -> bytes:
        """The bytes of a file that was judged, or that a person named by a flag; see `ExpandOptions.read`."""
        from caliban_tools_builtin import handles

        try:
            place = self._admitted.get(path) or self._fence.admit(os.fspath(path))
        except PathRefused as error:
            raise NotRegularFile(f"cannot read {path}: {error.message}", hint=error.hint) from error
        if not handles.SUPPORTED:
            return read_regular(place.path, max_bytes=max_bytes)
        try:
            with handles.parent_of(place) as parent:
                if handles.status_of(place, parent) is None:
                    raise failed("read", path, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
                descriptor = handles.open_file(place, parent, os.O_RDONLY)
        except FileMissing as error:
            raise FileFailed(f"cannot read {path}: {error.message}", missing=True) from error
        except FileRefused as error:  # its hint speaks of tools, to a model
            raise NotRegularFile(f"cannot read {path}: {error.message}") from error
        return read_opened(descriptor, path, max_bytes=max_bytes)

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
