"""Consent to what a repository supplies, bound to a digest of exactly what was shown."""

from caliban_trust.errors import ConsentNotKept, ConsentsUnusable, TrustFailed
from caliban_trust.store import Consent, TrustStore
from caliban_trust.surface import (
    ItemChange,
    ProjectRoot,
    TrustItem,
    TrustSurface,
    changes,
    project_root,
    trust_item,
    trust_surface,
)

__all__ = [
    "Consent",
    "ConsentNotKept",
    "ConsentsUnusable",
    "ItemChange",
    "ProjectRoot",
    "TrustFailed",
    "TrustItem",
    "TrustStore",
    "TrustSurface",
    "changes",
    "project_root",
    "trust_item",
    "trust_surface",
]
