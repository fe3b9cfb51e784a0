"""The compiled modules of a start in one file, so that a start opens one file and not five hundred.

The interpreter keeps the code of each module in a `.pyc` of its own, and looks for it in every folder of its
path: a quarter of the time that a start takes. This keeps what the last starts have loaded in one file beside
those, with the same trust and the same test of freshness: size and time of the source. Whatever does not fit
(another path, a changed folder, a changed module) is loaded as ever, and the file is written anew at the end.
See ADR 0042.
"""

from __future__ import annotations

import _frozen_importlib
import _thread
import marshal
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader, cache_from_source
from _imp import source_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import CodeType, ModuleType
    from typing import Any, Protocol, TypeAlias

    Entry: TypeAlias = tuple[str, str, str, bool, int, int, int, int]
    """Source, its folder, its `.pyc`, whether it is a package, time (ns), size, offset, length (bytes)."""

    class Kept(Protocol):
        """What modules compute while they are imported, as earlier starts have computed it."""

        @property
        def missed(self) -> int:
            """How much was computed that was not there and could be."""

        def serve(self, module: ModuleType) -> None:
            """Let `module` look here first."""

        def packed(self) -> bytes:
            """What was there, and what was missed, for the next start."""


NAME = "start"
"""What the file is called, before the tag of the interpreter."""

LAYOUT = 4
PATTERNS = "re patterns"
TEXTS = "compiled texts"
NAMES = "anyio names"
KINDS: Mapping[str, str] = {PATTERNS: "re._compiler", TEXTS: "collections", NAMES: "anyio._lazyimport"}
"""Where the index has what modules compute while they are imported (no module can be called so), and the
module by which it is as fresh."""

WATCHED: Mapping[str, str] = {
    "re._compiler": PATTERNS,
    "collections": TEXTS,
    "dataclasses": TEXTS,
    "anyio._lazyimport": NAMES,
}
"""Modules that are given, once they are loaded, what the file has for them."""

DEFERRED = frozenset(
    (
        *("msgspec.inspect", "msgspec.msgpack", "msgspec.toml", "msgspec.yaml"),  # by `msgspec` itself
        *("asyncio.sslproto", "asyncio.staggered", "locale"),  # by the loop and by `subprocess`
        "linecache",  # by `inspect` and `traceback`, and it brings `tokenize`
    )
)
"""Modules that others import at their head and a usual run never touches: each is run at its first use."""

ASKED = frozenset({"__future__", "typing", "_collections_abc"})
"""Modules beside ours that almost every module takes names out of."""

MAX_INDEX_BYTES = 8 << 20
FEW_FILES = 64
"""With fewer open files allowed, none is spent on this."""

FEW = 16
"""That many modules, or a twentieth of all, may come from elsewhere before the file is written anew; and that
many patterns."""


PLAIN: type[ModuleType] = type(sys)


class QuickModule(PLAIN):  # type: ignore[misc, valid-type]
    """A module that is asked for a name it has not as any object is: without the text of an error.

    `from module import name` asks each module first whether it is a package. Where it is none, Python 3.11
    makes two errors with their texts and drops them, some 3,000 times in a start; later ones do not. What a
    module's own `__getattr__` would answer is not asked for, so one that has it is none.
    """

    __slots__ = ()
    __getattribute__ = object.__getattribute__


QUICK: type[ModuleType] = QuickModule if sys.version_info < (3, 12) else PLAIN


class ImportCache:
    """The file at `place`; `owner` is who may have written it. `install` before the first heavy import."""

    def __init__(self, place: str, owner: int) -> None:
        self._place = place
        self._owner = owner
        self._entries: dict[str, Entry] = {}
        self._elsewhere: frozenset[str] = frozenset()
        self._missed: set[str] = set()
        self._descriptor = -1
        self._load_otherwise: Callable[..., ModuleType] = __import__
        self._locked: Callable[[str], AbstractContextManager[None]]
        self._kept: dict[str, Kept] = {}

    def install(self) -> None:
        """Let modules come from the file, where there is one that fits; nothing of it ever raises."""
        try:
            self._open()
        except (OSError, EOFError, ValueError, TypeError):
            self._entries = {}
        if self._entries:
            sys.meta_path.insert(0, self)
            if not sys.flags.verbose:  # which tells of what is left out here
                bootstrap: Any = _frozen_importlib
                self._load_otherwise, self._locked = bootstrap._find_and_load, bootstrap._ModuleLockManager
                bootstrap._find_and_load = self._load
            for name in ASKED.intersection(sys.modules):
                if type(sys.modules[name]) is PLAIN and "__getattr__" not in vars(sys.modules[name]):
                    sys.modules[name].__class__ = QUICK
            for name in WATCHED:
                if name in sys.modules:
                    self.serve(sys.modules[name])

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module as the file has it, unless its source has changed or its package lies elsewhere."""
        entry = self._entries.get(name)
        if entry is None or not _fits(entry, path):
            if name not in self._elsewhere:
                self._missed.add(name)
            return None
        source, folder, pyc, is_package, _, _, offset, length = entry
        loader = CachedLoader(name, source, self._descriptor, offset, length)
        if name in WATCHED:
            loader.is_loaded = self.serve
        spec = ModuleSpec(name, loader, origin=source)
        spec.has_location = True
        spec.cached = pyc
        if is_package:
            spec.submodule_search_locations = [folder]
        return spec

    def _load(self, name: str, import_: Callable[[str], ModuleType]) -> ModuleType:
        """What an import statement calls for a module that is not there: the shortest way to one of the file.

        The interpreter's own asks every finder in turn and looks for each attribute of the module: a third of
        the work. Its lock for each module is taken where there are threads, which may want the same one.
        """
        modules = sys.modules
        if name not in modules and name in self._entries and sys.meta_path[0] is self:
            if not _thread._count():
                return self._load_unlocked(name, import_)
            with self._locked(name):
                if name not in modules:
                    return self._load_unlocked(name, import_)
        return self._load_otherwise(name, import_)

    def _load_unlocked(self, name: str, import_: Callable[[str], ModuleType]) -> ModuleType:
        modules = sys.modules
        parent, _, child = name.rpartition(".")
        path = None
        if parent:
            if parent not in modules:
                import_(parent)
                if name in modules:
                    return modules[name]
            path = getattr(modules[parent], "__path__", None)
        spec: Any = None if parent and path is None else self.find_spec(name, path)
        if spec is None:
            return self._load_otherwise(name, import_)
        loader: CachedLoader = spec.loader
        module = modules[name] = loader.create_module(spec)
        spec._initializing = True
        try:
            loader.exec_module(module)
            module = modules[name] = modules.pop(name)  # which it may have put in its own place
        except BaseException:
            modules.pop(name, None)
            raise
        finally:
            spec._initializing = False
        if parent:
            setattr(modules[parent], child, module)
        return module

    def serve(self, module: ModuleType) -> None:
        """Give a watched module what the file has of what it computes."""
        kind = WATCHED[module.__name__]
        kept = self._kept.get(kind)
        if kept is None:
            kept = self._kept[kind] = _kept(kind, self._data(kind))
        kept.serve(module)

    def _data(self, kind: str) -> bytes:
        entry = self._entries.get(kind)
        if entry is None or not _is_fresh(entry):
            return b""
        try:
            return os.pread(self._descriptor, entry[7], entry[6])
        except OSError:
            return b""

    def update(self) -> None:
        """Write the file anew where much of what is loaded came from elsewhere; nothing of it ever raises."""
        missed = sum(kept.missed for kept in self._kept.values())
        if self._entries and len(self._missed) <= FEW and missed <= FEW:
            return  # without a look at each module, which would be a tenth of the time after an answer
        if sys.flags.dont_write_bytecode or not os.access(os.path.dirname(self._place), os.W_OK):
            return
        specs = [spec for spec in map(_spec, list(sys.modules.values())) if spec is not None]
        others = [spec for spec in specs if not isinstance(spec.loader, CachedLoader)]
        if len(others) <= max(FEW, len(specs) // 20) and missed <= FEW:
            return
        try:
            self._write(specs)
        except (OSError, ValueError):
            pass

    def _open(self) -> None:
        descriptor = os.open(self._place, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        facts = os.fstat(descriptor)
        index: object = None
        if facts.st_uid == self._owner and not facts.st_mode & 0o022:
            length = int.from_bytes(os.read(descriptor, 8), "little")
            digest, data = os.read(descriptor, 8), os.read(descriptor, min(length, MAX_INDEX_BYTES))
            if source_hash(LAYOUT, data) == digest:
                key, end, index, elsewhere = marshal.loads(data)
                self._elsewhere = frozenset(elsewhere)
                if key != _key() or end != facts.st_size:
                    index = None
        if isinstance(index, dict):
            self._descriptor, self._entries = descriptor, index
        else:
            os.close(descriptor)

    def _write(self, specs: Sequence[ModuleSpec]) -> None:
        """Everything that is loaded, and what the file had and nobody needed this time."""
        from caliban.import_pack import Facts, compiled, packed

        entries: dict[str, tuple[Facts, bytes]] = {}
        for spec in specs:
            if (code := compiled(spec)) is not None:
                entries[spec.name] = code
        for name, entry in self._entries.items():
            if name not in entries and name not in KINDS and _is_fresh(entry):
                entries[name] = (entry[:6], os.pread(self._descriptor, entry[7], entry[6]))
        for kind, kept in self._kept.items():
            if KINDS[kind] in entries:
                entries[kind] = entries[KINDS[kind]][0], kept.packed()
        index, codes = packed(_key(), entries, self._others())
        temporary = f"{self._place}.{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(temporary, flags, 0o644)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(len(index).to_bytes(8, "little") + source_hash(LAYOUT, index) + index)
                file.writelines(codes)
            os.replace(temporary, self._place)
        except OSError:
            os.unlink(temporary)
            raise

    def _others(self) -> list[str]:
        """The names of what can never come from the file: parts of the interpreter, and what there is not."""
        loaded = dict(sys.modules)
        names = {*self._elsewhere, *self._missed, *loaded}
        return sorted(name for name in names if name not in loaded or _spec(loaded[name]) is None)


class CachedLoader(SourceFileLoader):
    """Loads a module from the file; for all else (source, resources) it is the interpreter's own loader."""

    def __init__(self, name: str, path: str, descriptor: int, offset: int, length: int) -> None:
        self.name, self.path = name, path  # all that the one above does, which would be two calls
        self._descriptor, self._offset, self._length = descriptor, offset, length
        self.is_loaded: Callable[[ModuleType], None] | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module with all that the import system sets.

        It would look for each of these first, and make an error of each that is not there: a sixth of the
        work of loading a module. It looks for `__path__` still, so the module is a quick one until it is run.
        """
        module = (PLAIN if self.name in DEFERRED else QUICK)(spec.name)
        names = vars(module)
        names["__spec__"], names["__loader__"], names["__package__"] = spec, self, spec.parent
        names["__file__"], names["__cached__"] = spec.origin, spec.cached
        if spec.submodule_search_locations is not None:
            names["__path__"] = spec.submodule_search_locations
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run its code, unless that can wait, and tell whoever waits for it."""
        if self.name in DEFERRED:
            from caliban.deferred import defer

            defer(module, super().exec_module)
            return
        code = self.get_code(self.name)
        if code is None:
            raise ImportError(f"{self.name} has no code", name=self.name)
        often = self.name.startswith("caliban") or self.name in ASKED
        if type(module) is QUICK and not (often and "__getattr__" not in code.co_names):
            module.__class__ = PLAIN
        exec(code, vars(module))
        if "__getattr__" in vars(module) and type(module) is QUICK:
            module.__class__ = PLAIN
        if self.is_loaded is not None:
            self.is_loaded(module)

    def get_code(self, fullname: str) -> CodeType | None:
        """The code as the file has it; as ever where that cannot be read."""
        try:
            code = marshal.loads(os.pread(self._descriptor, self._length, self._offset))
        except (OSError, EOFError, ValueError, TypeError):
            code = None
        return code if hasattr(code, "co_code") else super().get_code(fullname)


def _kept(kind: str, data: bytes) -> Kept:
    """What serves modules with `data`, which earlier starts have computed and which may be garbage."""
    if kind == PATTERNS:
        from caliban.compiled_patterns import CompiledPatterns

        return CompiledPatterns(data)
    if kind == TEXTS:
        from caliban.compiled_texts import CompiledTexts

        return CompiledTexts(data)
    from caliban.lazy_names import LazyNames

    return LazyNames(data)


def import_cache() -> ImportCache | None:
    """The one of this program; `None` where what modules there are depends on more than the installation."""
    try:
        here = os.getcwd()
    except OSError:
        here = ""
    if (
        not hasattr(os, "pread")
        or os.sysconf("SC_OPEN_MAX") < FEW_FILES
        or "PYTHONPATH" in os.environ
        or not {"", here}.isdisjoint(sys.path)
    ):
        return None
    place = cache_from_source(os.path.join(os.path.dirname(__file__), f"{NAME}.py"))
    return ImportCache(place.removesuffix(".pyc") + ".pack", os.stat(__file__).st_uid)


def _key() -> tuple[bytes, int, tuple[tuple[str, int], ...]]:
    """What has to be as it was: interpreter, path, and the folders on it, in which something may be new."""
    return MAGIC_NUMBER, sys.flags.optimize, tuple((folder, _modified_ns(folder)) for folder in sys.path)


def _fits(entry: Entry, path: Sequence[str] | None) -> bool:
    """Whether the entry is of the module that the interpreter would find in `path`, as that is now."""
    _, folder, _, is_package, *_ = entry
    if path is not None and (os.path.dirname(folder) if is_package else folder) not in path:
        return False
    return _is_fresh(entry)


def _is_fresh(entry: Entry) -> bool:
    """Whether the source is as it was."""
    try:
        status = os.stat(entry[0])
    except OSError:
        return False
    return status.st_mtime_ns == entry[4] and status.st_size == entry[5]


def _modified_ns(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _spec(module: ModuleType) -> ModuleSpec | None:
    """How `module` was found, where its code lies in a `.pyc` by a source."""
    spec: ModuleSpec | None = getattr(module, "__spec__", None)
    if spec is None or not isinstance(spec.loader, SourceFileLoader) or spec.cached is None:
        return None
    return spec
