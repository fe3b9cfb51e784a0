"""Commands that provably only read inside the workspace: they need no rule."""

from caliban_permissions.readonly.judge import Workspace, why_not
from caliban_permissions.readonly.programs import LOOSE, reads_of
from caliban_permissions.readonly.reads import Reads
from caliban_permissions.readonly.repository import planted_repository
from caliban_permissions.readonly.table import FREE

__all__ = ["FREE", "LOOSE", "Reads", "Workspace", "planted_repository", "reads_of", "why_not"]
