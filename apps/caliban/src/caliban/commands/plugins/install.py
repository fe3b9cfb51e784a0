"""`caliban plugin install` and `update`: fetch, show, ask, then install; or do nothing at all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from caliban.cli.invocation import Invocation
from caliban.commands.asked import has_person, lets_count
from caliban.commands.config.change import chosen_scope
from caliban.commands.plugins.desk import PluginDesk, open_desk, told
from caliban.commands.plugins.marketplace import refreshed
from caliban.commands.plugins.switch import switch_in_settings
from caliban.compose.plugins.fetch import local_path
from caliban.compose.plugins.places import part_lines
from caliban.compose.plugins.policy import trust_message
from caliban.compose.plugins.stage import StagedPlugin, stage
from caliban.errors import CommandRefused, UsageError
from caliban.faces.cancellable import run_cancellable
from caliban.faces.themes import theme_problems
from caliban.stdio import complain, print_lines, print_text, write_out
from caliban_common.errors import CalibanError
from caliban_common.terminal import visible
from caliban_common.text import one_line
from caliban_plugins import PluginFailed, SourceFailed, capability_changes
from caliban_plugins.signature import SUFFIX, refuse_downgrade
from caliban_plugins.source import PluginSource, archive_source, folder_source, git_source
from caliban_plugins.store import updated

if TYPE_CHECKING:
    from caliban_plugins import InstalledPlugin, PluginRecords
    from caliban_plugins.market import MarketEntry

NOT_INSTALLED = 1
FORM = "NAME@MARKETPLACE"


def install(invocation: Invocation) -> int:
    """Fetch one plugin, show it, and install it where a person says so."""
    desk = open_desk(invocation)
    with told():
        source, entry, marketplace = _wanted(desk)
        desk.check_source(source, marketplace)
        keys = _keys(desk, marketplace)
        source = _signed_beside(desk, source)
        with desk.store.staging() as place:
            fetch = partial(
                stage, desk.fetcher, source, place, entry=entry, marketplace=marketplace, keys=keys
            )
            try:
                staged = run_cancellable(fetch, invocation.signals)
            except SourceFailed as error:
                if marketplace and source.commit and not error.hint:
                    error.hint = f"caliban plugin marketplace update {marketplace} reads its list again"
                raise
            before = desk.store.records().plugin(staged.plugin.name)
            _refuse_lesser(staged, before)
            if not _agreed(desk, staged, before):
                complain("caliban: not installed; nothing was written\n")
                return NOT_INSTALLED
            _keep(desk, staged)
    scope = invocation.values["scope"]
    if scope not in (None, "user"):
        switch_in_settings(desk, staged.plugin.name, chosen_scope(scope), is_on=True)
    return _say(f"installed: {staged.plugin.name} {staged.plugin.manifest.version}".rstrip(), staged.digest)


def update(invocation: Invocation) -> int:
    """Fetch plugins again, and take what is new of them where a person says so."""
    desk = open_desk(invocation)
    name = invocation.values["name"]
    plugins = [desk.installed(name)] if name is not None else list(desk.store.records().plugins)
    code = 0
    for plugin in plugins:
        try:
            code = max(code, _update_one(desk, plugin))
        except (CommandRefused, PluginFailed) as error:
            if name is not None:
                with told():
                    raise
            complain(f"caliban: {plugin.name}: {error.message}\n")
            complain(f"hint: {error.hint}\n" if error.hint else "")
            code = NOT_INSTALLED
    if not plugins:
        return write_out(b"(no plugins)\n")
    return code


def _update_one(desk: PluginDesk, plugin: InstalledPlugin) -> int:
    source, entry = plugin.source, None
    if plugin.marketplace:
        market = refreshed(desk, plugin.marketplace)
        try:
            entry = market.find(plugin.name)
        except PluginFailed as error:
            hint = error.hint or f"caliban plugin marketplace list {market.name} shows what it offers now"
            raise CommandRefused(f"{error.message}; the version that you have stays", hint=hint) from error
        source = entry.source or source
    desk.check_source(source, plugin.marketplace)
    keys = desk.keys(plugin.marketplace)
    if not keys and plugin.signed is not None and source.signature:
        keys = (plugin.signed.key,)
    with desk.store.staging() as place:
        fetch = partial(
            stage, desk.fetcher, source, place, entry=entry, marketplace=plugin.marketplace, keys=keys
        )
        staged = run_cancellable(fetch, desk.invocation.signals)
        if staged.plugin.name != plugin.name:
            raise CommandRefused(f"what is there now calls itself {staged.plugin.name}; nothing was changed")
        if staged.digest == plugin.current.digest and desk.store.is_whole(plugin):
            return print_text(f"{plugin.name}: up to date\n")
        _refuse_lesser(staged, plugin)
        if not _agreed(desk, staged, plugin):
            complain(f"caliban: {plugin.name} was not updated; nothing was written\n")
            return NOT_INSTALLED
        _keep(desk, staged, is_update=True)
    return _say(f"updated: {plugin.name} {staged.plugin.manifest.version}".rstrip(), staged.digest)


def _wanted(desk: PluginDesk) -> tuple[PluginSource, MarketEntry | None, str]:
    """The source that the flags name, and what a marketplace says of it."""
    values = desk.invocation.values
    given = [name for name in ("spec", "dir", "git", "archive") if values[name] is not None]
    if len(given) != 1:
        raise UsageError("one plugin at a time: NAME@MARKETPLACE, --dir, --git or --archive")
    for flag, needs in (("ref", "git"), ("sha256", "archive"), ("signature", "archive")):
        if values[flag] is not None and given != [needs]:
            raise UsageError(f"--{flag} goes with --{needs}")
    inside = values["path"] or ""
    match given[0]:
        case "dir":
            return _folder(values["dir"], inside), None, ""
        case "git":
            return _git(values["git"], values["ref"] or "", inside), None, ""
        case "archive":
            return _archive(values["archive"], (values["sha256"] or "").lower(), inside), None, ""
    return _named(desk, values["spec"])


def _named(desk: PluginDesk, spec: str) -> tuple[PluginSource, MarketEntry | None, str]:
    name, at, place = spec.partition("@")
    if not at or not name or not place:
        raise UsageError(f"{one_line(spec, max_chars=100)} is no {FORM}", hint=_meant(desk, spec))
    market, known = desk.market(place)
    entry = market.find(name)
    assert entry.source is not None
    return entry.source, entry, known


def _meant(desk: PluginDesk, spec: str) -> str:
    """How what was written in the place of a name is said."""
    shown = one_line(spec, max_chars=100)
    if Path(local_path(spec)).is_dir():
        return f"a folder goes by --dir: caliban plugin install --dir {shown}"
    if spec.startswith((".", "/", "~")):
        return f"there is no folder {shown}"
    if "/" in spec:
        is_archive = spec.endswith((".zip", ".tar.gz", ".tgz", ".tar.bz2"))
        return f"caliban plugin install --{'archive' if is_archive else 'git'} {shown}"
    known = [one.name for one in desk.store.records().marketplaces]
    offering = [name for name in known if _offers(desk, name, spec)]
    if offering:
        return f"caliban plugin install {shown}@{offering[0]}"
    if known:
        return f"none of your marketplaces offers it: {', '.join(known)}"
    return "caliban plugin marketplace add PLACE adds a list of plugins; a folder goes by --dir"


def _offers(desk: PluginDesk, market: str, name: str) -> bool:
    try:
        return any(entry.name == name for entry in desk.market(market)[0].entries)
    except CalibanError:
        return False


def _folder(text: str, inside: str) -> PluginSource:
    path = local_path(text)
    if not Path(path).is_dir():
        raise CommandRefused(f"{one_line(text, max_chars=200)} is not a directory")
    return folder_source(path, inside=inside)


def _git(url: str, ref: str, inside: str) -> PluginSource:
    is_path = url.startswith(("/", "./", "../", "~"))
    commit = ref if len(ref) in (40, 64) and all(char in "0123456789abcdef" for char in ref) else ""
    return git_source(
        local_path(url) if is_path else url,
        ref="" if commit else ref,
        commit=commit,
        inside=inside,
        local=is_path,
    )


def _archive(place: str, digest: str, inside: str) -> PluginSource:
    if "://" in place:
        return archive_source(place, sha256=digest, inside=inside)
    return archive_source(local_path(place), sha256=digest, inside=inside, local=True)


def _keys(desk: PluginDesk, marketplace: str) -> tuple[str, ...]:
    """The keys that one of must have signed it: the one that the flag names, else the pinned ones."""
    given = desk.invocation.values["key"]
    return (desk.typed_key(given, marketplace),) if given is not None else desk.keys(marketplace)


def _signed_beside(desk: PluginDesk, source: PluginSource) -> PluginSource:
    """The archive that a person named, with where its signature is; said where that is not looked at."""
    if desk.invocation.values["archive"] is None:
        return source
    place, is_local = desk.invocation.values["signature"], Path(source.at).is_absolute()
    if desk.invocation.values["key"] is None:
        if place is not None:
            raise UsageError("--signature goes with --key: the public key that it is verified by")
        if is_local and Path(source.at + SUFFIX).exists():
            complain(f"caliban: {source.at}{SUFFIX} is not looked at: --key KEY verifies it\n")
        return source
    if place is None:
        return replace(source, signature=source.at + SUFFIX)
    return replace(source, signature=archive_source(place).at if "://" in place else local_path(place))


def _refuse_lesser(staged: StagedPlugin, before: InstalledPlugin | None) -> None:
    """Refuse what is less sure than what is there, and a package that changed under its version."""
    if before is None:
        return
    refuse_downgrade(before.name, before.signed, staged.signed)
    had, has = before.current, staged.fetched
    if has.package and has.package == had.package and has.integrity != had.integrity:
        raise SourceFailed(
            f"{has.package} is not what it was: its integrity is {has.integrity}, and was {had.integrity}",
            hint="no version of a package ever changes: whoever offers it has changed it",
        )


def _agreed(desk: PluginDesk, staged: StagedPlugin, before: InstalledPlugin | None) -> bool:
    """Whether a person agrees to what is shown; a folder that only has words in it needs no answer.

    Raises `CommandRefused` where there is nobody to ask.
    """
    if print_lines(map(visible, _lines(desk, staged, before))):
        return False
    if desk.invocation.values["yes"]:
        return True
    if staged.source.kind == "folder" and not staged.marketplace and not staged.acts:
        return True
    if before is not None and staged.digest in _agreed_digests(before):
        return True
    if not has_person():
        raise CommandRefused(
            "there is no terminal to ask at: nothing is installed without a person",
            hint="look at what is shown; --yes says that you have",
        )
    return lets_count(desk.invocation.signals)


def _agreed_digests(plugin: InstalledPlugin) -> set[str]:
    return {version.digest for version in (plugin.current, plugin.previous) if version is not None}


def _lines(desk: PluginDesk, staged: StagedPlugin, before: InstalledPlugin | None) -> Iterator[str]:
    manifest = staged.plugin.manifest
    yield f"plugin    {manifest.name} {manifest.version}".rstrip()
    yield from (f"about     {one_line(manifest.description, max_chars=300)}",) if manifest.description else ()
    yield f"from      {staged.source.words}"
    yield from (f"commit    {staged.commit}",) if staged.commit else ()
    yield from (f"package   {staged.fetched.package}",) if staged.fetched.package else ()
    yield from (f"signed    by {staged.signed.words}",) if staged.signed is not None else ()
    yield f"manifest  sha256 {staged.manifest_sha256}"
    yield f"digest    {staged.digest} (every file of it)"
    message = trust_message(desk.settings)
    yield from (f"note      {one_line(message)}",) if message else ()
    if before is not None and (before.source.at, before.marketplace) != (
        staged.source.at,
        staged.marketplace,
    ):
        yield f"replaces  the one from {before.source.words}"
    yield "parts     (! runs, steers or locks something by itself)"
    yield from (f"  {line}" for line in part_lines(staged.parts) or ["(none)"])
    yield from (f"note      {one_line(note)}" for note in (*staged.notes, *theme_problems(staged.plugin)))
    if before is not None:
        changes = capability_changes(before.current.parts, staged.parts)
        yield f"different from version {before.current.version or before.current.digest[:12]}:"
        yield from (
            f"  {change.verb}: {'! ' if change.part.acts else ''}{change.part.kind} {change.part.name}"
            for change in changes
        )
        if not changes:
            same = staged.digest == before.current.digest
            yield "  nothing: it is the same" if same else "  files that are none of its parts"


def _keep(desk: PluginDesk, staged: StagedPlugin, *, is_update: bool = False) -> None:
    """Record the installation; the previous version and whether it was disabled are kept.

    What is there now is what counts, not what was there when the question was asked.
    """

    def change(records: PluginRecords) -> PluginRecords:
        before = records.plugin(staged.plugin.name)
        _refuse_lesser(staged, before)
        if is_update and before is None:
            raise CommandRefused(f"{staged.plugin.name} was removed meanwhile; nothing was written")
        made = staged.install(desk.store)
        if before is not None:
            made = replace(updated(before, made.current), source=made.source, marketplace=made.marketplace)
        others = (one for one in records.plugins if one.name != made.name)
        return replace(records, plugins=tuple(sorted((*others, made), key=lambda one: one.name)))

    desk.store.change(change)


def _say(words: str, digest: str) -> int:
    return print_text(f"{words} ({digest[:12]})\n")
