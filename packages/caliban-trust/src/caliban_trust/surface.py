"""What a repository supplies that executes, grants or steers, and the digest that stands for all of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct


class TrustItem(Struct, frozen=True, kw_only=True):
    """One thing that counts with trust only.

    `kind`, `place` and `name` say which it is; no two of a surface have all three in common. `digest` is the
    SHA-256 of these and of all that it says, in 64 hexadecimal digits; `shown` is what a person is shown of
    it, without secrets. `grants` is false for what only narrows other items, and would widen them if it went.
    """

    kind: str
    place: str
    name: str
    digest: str
    shown: str
    grants: bool = True

    @property
    def key(self) -> tuple[str, str, str]:
        """Which item it is, whatever it says."""
        return self.kind, self.place, self.name


def trust_item(
    kind: str, place: str, name: str, content: bytes, *, shown: str, grants: bool = True
) -> TrustItem:
    """The item that says `content`."""
    digest = sha256(b"caliban trust item 1\n")
    for part in (*(text.encode("utf-8", "surrogatepass") for text in (kind, place, name)), content):
        digest.update(b"%d:" % len(part))  # no two lists of parts are the same bytes
        digest.update(part)
    return TrustItem(
        kind=kind,
        place=place,
        name=name,
        digest=digest.hexdigest(),
        shown=shown,
        grants=grants,
    )


class TrustSurface(Struct, frozen=True, kw_only=True):
    """All items of one project, in order of kind, place and name."""

    items: tuple[TrustItem, ...] = ()

    @property
    def asks(self) -> bool:
        """Whether there is anything that trust would let count."""
        return any(item.grants for item in self.items)

    @property
    def digest(self) -> str:
        """The SHA-256 over all items, in 64 hexadecimal digits; where the project lies is no part of it."""
        digest = sha256(b"caliban trust surface 1\n%d\n" % len(self.items))
        for item in self.items:
            digest.update(bytes.fromhex(item.digest))
        return digest.hexdigest()


def trust_surface(items: Iterable[TrustItem]) -> TrustSurface:
    """The surface of `items`, given in any order."""
    return TrustSurface(items=tuple(sorted(items, key=lambda item: (item.key, item.digest))))


class ItemChange(Struct, frozen=True, kw_only=True):
    """An item that was changed, added (no `before`) or removed (no `after`)."""

    before: TrustItem | None
    after: TrustItem | None

    @property
    def verb(self) -> str:
        """What happened to it."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"

    @property
    def item(self) -> TrustItem:
        """The item as it is now, or was."""
        item = self.after or self.before
        assert item is not None
        return item


def changes(before: Sequence[TrustItem], after: Sequence[TrustItem]) -> tuple[ItemChange, ...]:
    """What is different between the items of a consent and those of now, in their order."""
    return tuple(_changes(before, after))


def _changes(before: Sequence[TrustItem], after: Sequence[TrustItem]) -> Iterator[ItemChange]:
    old, new = ({item.key: item for item in items} for items in (before, after))
    for key in sorted({*old, *new}):
        one, other = old.get(key), new.get(key)
        if one is None or other is None or one.digest != other.digest:
            yield ItemChange(before=one, after=other)


class ProjectRoot(Struct, frozen=True, kw_only=True):
    """The folder that a consent is for: its path without links, and which folder that is on its device.

    `device` and `inode` are numbers in digits: they may have more bits than others read.
    """

    path: str
    device: str
    inode: str


def project_root(path: Path) -> ProjectRoot:
    """The root at `path`, links resolved. Raises `OSError` where there is no such folder."""
    real = path.resolve(strict=True)
    status = real.stat()
    return ProjectRoot(path=str(real), device=str(status.st_dev), inode=str(status.st_ino))
