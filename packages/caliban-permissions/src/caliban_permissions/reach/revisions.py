"""What revisions of a repository hold, and in which files one differs from another."""

from __future__ import annotations

from collections.abc import Iterator

from caliban_common.lazy import lazy_pattern
from caliban_permissions.reach.objects import HASH_BYTES, ObjectStore, UnknownObjectError

_SUFFIX = lazy_pattern(r"(?:[~^][0-9]*)*$")
_STEP = lazy_pattern(r"([~^])([0-9]*)")
_PLAIN = lazy_pattern(r"[A-Za-z0-9_./@-]+")
_ID = lazy_pattern(r"[0-9a-f]{4,40}")
_DESCRIBED = lazy_pattern(r"-g[0-9a-f]{4,40}$")
_FOLDER = b"40000"
_PLACES = ("{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
_MAX_REFS = 4_000_000
_MAX_HOPS = 5
_MAX_STEPS = 200


class Revisions:
    """The revisions of a repository: `own` is the directory of the working tree, `common` that of all."""

    def __init__(self, own: str, common: str) -> None:
        self.own = own
        self.common = common
        self.store = ObjectStore(common)

    def commit(self, text: str) -> bytes | None:
        """The id of the commit that `text` means; `None` where there is none. Raises `UnknownObjectError`."""
        steps = _SUFFIX.search(text)
        suffix = steps.group() if steps is not None else ""
        base = text[: len(text) - len(suffix)] or "HEAD"
        base = "HEAD" if base == "@" else base
        if (
            not _PLAIN.fullmatch(base)
            or base == "-"
            or ".." in base
            or "@" in base
            or _DESCRIBED.search(base)
        ):
            raise UnknownObjectError("it is no plain name of a revision")
        id = self._named(base)
        for kind, number in _STEP.findall(suffix) if id is not None else ():
            count = int(number or 1)
            for _ in range(min(count, _MAX_STEPS) if kind == "~" else 1):
                parents = self.parents(id) if id is not None else ()
                place = 0 if kind == "~" else count - 1
                if kind == "^" and count == 0:
                    continue
                id = parents[place] if place < len(parents) else None
            if count > _MAX_STEPS:
                raise UnknownObjectError("it is too long ago")
        return id

    def parents(self, id: bytes) -> tuple[bytes, ...]:
        """The commits in front of one."""
        return tuple(bytes.fromhex(value) for name, value in self._head(id) if name == "parent")

    def differing(self, one: bytes | None, other: bytes | None) -> Iterator[str]:
        """The paths in which two commits differ; without one, all of the other.

        Raises `UnknownObjectError`.
        """
        trees = [None if id is None else self._tree(id) for id in (one, other)]
        yield from self._differing(trees[0], trees[1], "")

    def file(self, id: bytes, path: str) -> bytes | None:
        """The id of a file in a commit; `None` where it has none. Raises `UnknownObjectError`."""
        object_id: bytes | None = self._tree(id)
        for part in path.encode("utf-8", "surrogateescape").split(b"/"):
            object_id = None if object_id is None else self._entries(object_id).get(part, (b"", None))[1]
        return object_id

    def _named(self, base: str) -> bytes | None:
        for place in _PLACES:
            object_id = self._ref(place.format(base))
            if object_id is not None:
                return self._peeled(object_id)
        if _ID.fullmatch(base):
            ids = self.store.ids(base)
            if len(ids) > 1:
                raise UnknownObjectError("more than one begins so")
            return self._peeled(ids.pop()) if ids else None
        remote = self._remote(base)
        return None if remote is None else self._peeled(remote)

    def _remote(self, base: str) -> bytes | None:
        """The branch of a remote that a command makes one of ours of."""
        names = {line.split()[1] for line in self._packed() if len(line.split()) == 2}
        remotes = {name.split("/")[2] for name in names if name.startswith("refs/remotes/")}
        remotes |= {line[8:-2] for line in self._lines("config") if line.startswith('[remote "')}
        refs = [ref for name in sorted(remotes) if (ref := self._ref(f"refs/remotes/{name}/{base}"))]
        return refs[0] if refs else None

    def _ref(self, name: str) -> bytes | None:
        for _ in range(_MAX_HOPS):
            lines = self._lines(name, own=not name.startswith("refs/"))
            text = lines[0].split()[0] if lines and lines[0].strip() else ""
            if lines and lines[0].startswith("ref: "):
                name = lines[0][5:].strip()
                continue
            if _ID.fullmatch(text) and len(text) == 2 * HASH_BYTES:
                return bytes.fromhex(text)
            packed = (line.split() for line in self._packed())
            return next((bytes.fromhex(parts[0]) for parts in packed if parts[1:2] == [name]), None)
        raise UnknownObjectError("its name leads on and on")

    def _packed(self) -> list[str]:
        return [line for line in self._lines("packed-refs") if line[:1] not in ("#", "^")]

    def _lines(self, name: str, *, own: bool = False) -> list[str]:
        try:
            path = f"{self.own if own else self.common}/{name}"
            with open(path, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
                return file.read(_MAX_REFS).splitlines()
        except (OSError, ValueError):
            return []

    def _peeled(self, id: bytes) -> bytes:
        for _ in range(_MAX_HOPS):
            kind, content = self.store.read(id)
            if kind == "commit":
                return id
            if kind != "tag":
                break
            id = bytes.fromhex(content.split(b"\n", 1)[0].split()[1].decode("ascii"))
        raise UnknownObjectError("it is no commit")

    def _head(self, id: bytes) -> list[tuple[str, str]]:
        kind, content = self.store.read(id)
        if kind != "commit":
            raise UnknownObjectError("it is no commit")
        lines = content.split(b"\n\n", 1)[0].decode("utf-8", "replace").split("\n")
        return [(name, value) for name, _, value in (line.partition(" ") for line in lines)]

    def _tree(self, id: bytes) -> bytes:
        return next(bytes.fromhex(value) for name, value in self._head(id) if name == "tree")

    def _entries(self, id: bytes) -> dict[bytes, tuple[bytes, bytes]]:
        kind, content = self.store.read(id)
        if kind != "tree":
            raise UnknownObjectError("it is no tree")
        entries: dict[bytes, tuple[bytes, bytes]] = {}
        at = 0
        while at < len(content):
            end = content.index(b"\0", at)
            mode, _, name = content[at:end].partition(b" ")
            entries[name] = (mode, content[end + 1 : end + 1 + HASH_BYTES])
            at = end + 1 + HASH_BYTES
        return entries

    def _differing(self, one: bytes | None, other: bytes | None, above: str) -> Iterator[str]:
        if one == other:
            return
        left = {} if one is None else self._entries(one)
        right = {} if other is None else self._entries(other)
        for name in sorted({*left, *right}):
            was, now = left.get(name), right.get(name)
            if was == now:
                continue
            path = above + name.decode("utf-8", "surrogateescape")
            folders = [
                entry[1] if entry is not None and entry[0] == _FOLDER else None for entry in (was, now)
            ]
            if folders != [None, None]:
                yield from self._differing(folders[0], folders[1], f"{path}/")
            if any(entry is not None and entry[0] != _FOLDER for entry in (was, now)):
                yield path
