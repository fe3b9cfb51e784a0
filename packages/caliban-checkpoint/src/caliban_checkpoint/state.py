"""What is at a path at one moment, as far as it can be put back."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct

StateKind: TypeAlias = Literal["file", "absent", "link", "other"]
"""`other` is a directory, a device, a pipe or a socket: never put back."""

Permissions: TypeAlias = Annotated[int, Meta(ge=0, le=0o777)]
Size: TypeAlias = Annotated[int, Meta(ge=0)]
LinkTarget: TypeAlias = Annotated[str, Meta(pattern=r"^[^\0]*\Z")]


class FileState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One path at one moment; two that are equal are the same to a person.

    `sha256` is that of a file's bytes in hexadecimal digits, or a stand-in that begins with `stat-` where the
    file is too large to be read for it. `mode` are its nine permission bits. `target` is where a link leads,
    or what kind of thing another one is.
    """

    kind: StateKind
    sha256: str = ""
    mode: Permissions = 0
    size: Size = 0
    target: LinkTarget = ""

    @property
    def in_words(self) -> str:
        """What a person would call it."""
        match self.kind:
            case "file":
                return f"a file of {self.size:,} bytes"
            case "absent":
                return "nothing"
            case "link":
                return f"a link to {self.target}"
            case _:
                return self.target or "something else"


def is_text(name: str) -> bool:
    """Whether a name of the file system can stand in a manifest: bytes that are no UTF-8 cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


ABSENT: Final = FileState(kind="absent")
DIRECTORY: Final = FileState(kind="other", target="a directory")
