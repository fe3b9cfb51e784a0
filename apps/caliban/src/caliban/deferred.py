"""A module that is run when it is first used, not where it is imported.

For modules that others import at their head and hardly ever touch. Whoever holds the module sees no
difference: the first look at a name runs it, under the lock that an import statement would take.
See ADR 0084.
"""

from __future__ import annotations

from _frozen_importlib import _DeadlockError, _ModuleLockManager  # type: ignore[attr-defined]
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[ModuleType], None]

AS_IMPORTED = frozenset(
    ("__spec__", "__class__", "__name__", "__loader__", "__file__", "__path__", "__package__", "__cached__")
)
"""What the import system has set before a module is run, and asks for without wanting the module."""


def defer(module: ModuleType, run: Run) -> None:
    """Let `run` fill `module` at its first use, and until then keep it as it is."""
    object.__setattr__(module, "__class__", DeferredModule)
    spec = object.__getattribute__(module, "__spec__")
    spec.loader_state = run


class DeferredModule(ModuleType):
    """A module that has not been run; once it has, it is an ordinary one."""

    def __getattribute__(self, name: str) -> Any:
        if name not in AS_IMPORTED:
            _run(self)
            if type(self) is not DeferredModule:
                return getattr(self, name)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        _run(self)
        ModuleType.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        _run(self)
        ModuleType.__delattr__(self, name)


def _run(module: DeferredModule) -> None:
    """Run it, once and by one thread; whoever it asks for while it runs sees what it has by then."""
    spec = object.__getattribute__(module, "__spec__")
    try:
        with _ModuleLockManager(spec.name):
            run = spec.loader_state
            if run is None:
                return  # it runs, in this very thread, or has run meanwhile
            spec.loader_state = None
            try:
                run(module)
            except BaseException:
                spec.loader_state = run
                raise
            object.__setattr__(module, "__class__", ModuleType)
    except _DeadlockError:
        return  # two modules that need each other, in two threads: as with import statements
