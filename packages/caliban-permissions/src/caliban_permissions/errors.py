"""What can be wrong with a permissions file.

    CalibanError
    └── PermissionsError
        ├── RuleError        a rule, or the block that holds it, lacks the documented shape
        ├── BadVerdict       the classifier of the auto mode gave no verdict
        ├── ImportRefused    a file of another harness holds no rules that could be taken
        └── AuditFailed      the log of decisions cannot be written

A pattern that cannot be read is not an error here: such a rule is kept, grants nothing and carries its
`problem`, so that a face can name all of them at once.
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class PermissionsError(CalibanError):
    """The root of this package's errors."""


class BadVerdict(PermissionsError):
    """An answer of the classifier is none that could be taken."""


class ImportRefused(PermissionsError):
    """A file holds no rules in a form that is known."""


class AuditFailed(PermissionsError):
    """A decision could not be kept in the log."""


class RuleError(PermissionsError):
    """A rule lacks its pattern or action, has an unknown key, or a value of the wrong type."""
