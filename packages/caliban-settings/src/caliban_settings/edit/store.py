"""The permission rules of one scope as they are kept: in which file, read for a person, and changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from caliban_settings.edit.file import SettingsFile
from caliban_settings.edit.rules import RuleEntry, RuleTable, rule_entries, with_rule, without_rule
from caliban_settings.errors import SettingsNotWritten
from caliban_settings.key import Scope
from caliban_settings.parse import parse

OWN_FILE: Final = "permissions.toml"


class KeptRule(Struct, frozen=True, kw_only=True):
    """A rule of a scope and its file; `index` is from 1, in the order in which they count."""

    index: int
    path: Path
    entry: RuleEntry
    own_file: bool
    is_toml: bool = True


class RuleStore(Struct, frozen=True, kw_only=True):
    """The rules of one scope with files. `workspace` bounds the links of its own scopes."""

    scope: Scope
    directory: Path
    stem: str
    workspace: Path | None = None

    def rules(self) -> tuple[KeptRule, ...]:
        """The rules of the scope. Raises `SettingsError` for a file that cannot be read."""
        entries: list[tuple[Path, RuleEntry, bool]] = []
        home, own = self._home()
        if home is not None:
            entries = [(home, entry, own) for entry in self._entries(home, own_file=own)]
        for path in self._others(home):
            denies = (entry for entry in self._entries(path, own_file=False) if _denies(entry))
            entries = [*((path, entry, False) for entry in denies), *entries]
        return tuple(
            KeptRule(index=number, path=path, entry=entry, own_file=own, is_toml=path.suffix == ".toml")
            for number, (path, entry, own) in enumerate(entries, 1)
        )

    def add(self, rules: Sequence[RuleTable]) -> Path:
        """Write `rules` behind the others; where they are now. One that is there is not written again.

        Raises `SettingsNotWritten`, `SettingsError`.
        """
        path, own = self._home()
        if path is not None and path.suffix != ".toml":
            raise SettingsNotWritten(
                f"the rules of this scope stand in {path}, and JSON is read but not written",
                hint=f"say the same in {path.with_suffix('.toml').name}, and remove the JSON file",
            )
        target = path or self._new_file()
        own = own if path is not None else target.name == OWN_FILE

        def change(text: str) -> str:
            data, _ = parse(text, name=str(target), toml=True)
            known = {_words(entry.rule) for entry in rule_entries(data, own_file=own)}
            for rule in rules:
                if _words(rule) not in known:
                    known.add(_words(rule))
                    text = with_rule(text, rule, own_file=own)
            return text

        self._rewrite(target, change)
        return target

    def target(self) -> Path:
        """The file that `add` would write to. Raises `SettingsError` for one that cannot be read."""
        return self._home()[0] or self._new_file()

    def remove(self, kept: KeptRule) -> None:
        """Take a rule out of its file. Raises `SettingsNotWritten`, `SettingsError`."""
        if not kept.is_toml:
            raise SettingsNotWritten(
                f"{kept.path} is JSON, which is read but not written", hint="take it out by hand"
            )

        def change(text: str) -> str:
            data, _ = parse(text, name=str(kept.path), toml=True)
            if kept.entry not in rule_entries(data, own_file=kept.own_file):
                raise SettingsNotWritten("the file was changed meanwhile", hint="try again")
            return without_rule(text, kept.entry, own_file=kept.own_file)

        self._rewrite(kept.path, change)

    def _home(self) -> tuple[Path | None, bool]:
        """The file that holds the rules of the scope, and whether it is one of rules alone."""
        own = self.directory / OWN_FILE
        if self.scope != "local" and os.path.lexists(own):
            return own, True
        toml, json = self._settings("toml"), self._settings("json")
        if os.path.lexists(toml):
            is_home = self.scope == "local" or "permissions" in self._data(toml)
            return (toml, False) if is_home else (None, False)
        if os.path.lexists(json):
            is_home = self.scope == "local" or "permissions" in self._data(json)
            return (json, False) if is_home else (None, False)
        return None, False

    def _others(self, home: Path | None) -> Iterator[Path]:
        """The settings files beside `home`, of which only the denies count."""
        toml, json = self._settings("toml"), self._settings("json")
        has_toml = os.path.lexists(toml)
        if home is not None and home.name == OWN_FILE:
            if has_toml:
                yield toml
            elif os.path.lexists(json):
                yield json
        if has_toml and os.path.lexists(json):
            yield json

    def _settings(self, suffix: str) -> Path:
        return self.directory / f"{self.stem}.{suffix}"

    def _new_file(self) -> Path:
        return self._settings("toml") if self.scope == "local" else self.directory / OWN_FILE

    def _entries(self, path: Path, *, own_file: bool) -> tuple[RuleEntry, ...]:
        return rule_entries(self._data(path), own_file=own_file)

    def _data(self, path: Path) -> dict[str, object]:
        return parse(self._bytes(path), name=str(path), toml=path.suffix == ".toml")[0]

    def _bytes(self, path: Path) -> bytes:
        return self._file(path).read()

    def _rewrite(self, path: Path, change: Callable[[str], str]) -> None:
        self._file(path).rewrite(change)

    def _file(self, path: Path) -> SettingsFile:
        return SettingsFile(scope=self.scope, path=path, workspace=self.workspace)


def rule_store(scope: Scope, *, workspace: Path, config_dir: Path, managed_dir: Path) -> RuleStore:
    """The rules of a scope. Raises `SettingsNotWritten` for the command line, which has no file."""
    own = workspace / ".caliban"
    match scope:
        case "managed":
            return RuleStore(scope=scope, directory=managed_dir, stem="managed-settings")
        case "user":
            return RuleStore(scope=scope, directory=config_dir, stem="settings")
        case "project":
            return RuleStore(scope=scope, directory=own, stem="settings", workspace=workspace)
        case "local":
            return RuleStore(scope=scope, directory=own, stem="settings.local", workspace=workspace)
        case "cli":
            raise SettingsNotWritten(
                "rules of the command line stand in no file", hint="say them with each run"
            )


def _words(rule: RuleTable) -> str:
    return f"{rule.get('action')} {rule.get('pattern')}"


def _denies(entry: RuleEntry) -> bool:
    return entry.rule.get("action") == "deny" and (entry.place[-2] in ("deny", "rules"))
