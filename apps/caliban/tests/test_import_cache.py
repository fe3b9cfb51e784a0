"""The file with the compiled modules of a start: used where it fits, passed over where anything changed."""

from __future__ import annotations

import marshal
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban.import_cache import ImportCache

pytestmark = pytest.mark.skipif(not hasattr(os, "pread"), reason="the file is read by pread")

PROGRAM = """\
import os, sys
sys.path[:] = [{site!r}, *[entry for entry in sys.path if entry]]
from caliban.import_cache import CachedLoader, ImportCache
cache = ImportCache({place!r}, {owner})
cache.install()
import importlib
names = [f"parts.m{{n}}" for n in range(20)] + ["parts", "parts.inner", "parts.inner.leaf"]
loaded = [importlib.import_module(name) for name in names]
print(sum(isinstance(module.__spec__.loader, CachedLoader) for module in loaded))
print(loaded[0].VALUE, loaded[-1].VALUE, loaded[-1].__file__)
{more}
cache.update()
"""


class Site:
    """A folder with modules, and a place for the file, that programs of one's own are run with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "site"
        self.place = folder / "start.pack"
        (self.folder / "parts" / "inner").mkdir(parents=True)
        for name in ("__init__", "inner/__init__", "inner/leaf", *(f"m{n}" for n in range(20))):
            self.write(name, 1)
        # Without it the first program adds a folder for its own, and the path is not what it was.
        self.run()
        self.place.unlink(missing_ok=True)

    def write(self, name: str, value: object) -> None:
        (self.folder / "parts" / f"{name}.py").write_text(f"VALUE = {value}\n", encoding="utf-8")

    def run(self, more: str = "", *options: str, owner: int | None = None) -> tuple[int, str]:
        """How many of 23 modules came from the file, and all that was printed besides."""
        owner = os.geteuid() if owner is None else owner
        text = PROGRAM.format(site=str(self.folder), place=str(self.place), owner=owner, more=more)
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(
            [sys.executable, *options, "-c", text], capture_output=True, text=True, env=environ, check=False
        )
        assert done.returncode == 0, done.stderr
        count, _, rest = done.stdout.partition("\n")
        return int(count), rest


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_the_second_start_takes_all_from_the_file(site: Site) -> None:
    first, words = site.run()
    assert (first, stat.S_IMODE(site.place.stat().st_mode) & 0o022) == (0, 0)
    assert site.run() == (23, words)
    assert site.run() == (23, words)


def test_a_module_has_all_that_it_would_have(site: Site) -> None:
    more = "for module in (loaded[0], loaded[20], loaded[-1]):\n"
    more += "    facts = {**vars(module), '__builtins__': 0, '__loader__': 0}\n"
    more += "    print(sorted((name, str(value)) for name, value in facts.items() if name != '__spec__'))\n"
    more += "    spec = module.__spec__\n"
    more += "    print(spec.loader is module.__loader__, spec.name, spec.origin, spec.cached, spec.parent)\n"
    more += "    print(spec.submodule_search_locations, spec.has_location)\n"
    first, words = site.run(more)
    second, again = site.run(more)
    assert (first, second, again.replace("_NamespacePath", "list")) == (0, 23, words)
    assert words.count("('__file__'") == 3 and words.count("('__path__'") == 1


def test_a_file_that_has_all_is_not_written_again(site: Site) -> None:
    site.run()
    before = site.place.stat()
    site.run()
    assert (site.place.stat().st_ino, site.place.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_patterns_of_modules_are_compiled_by_the_first_starts_only(site: Site) -> None:
    for number in range(20):
        site.write(
            f"m{number}", f"__import__('re').compile('[ab]{{{number}}}').match('{'a' * number}') and 1"
        )
    asked = "print(cache._kept and cache._kept['re patterns'].missed)"
    assert site.run(asked)[1].endswith("{}\n")
    assert site.run(asked)[1].endswith("20\n")
    before = site.place.stat().st_ino
    count, words = site.run(asked)
    assert (count, words.startswith("1 1 "), words.endswith("0\n")) == (23, True, True)
    assert site.place.stat().st_ino == before


def test_a_module_of_ours_lacks_names_as_any_object_does(site: Site) -> None:
    ours = site.folder / "caliban_plain.py"
    ours.write_text("HAS = 1\n", encoding="utf-8")
    more = "import caliban_plain, types, typing\n"
    more += "from caliban_plain import HAS\n"
    more += "def said(work):\n"
    more += "    try: exec(work, {'caliban_plain': caliban_plain})\n"
    more += "    except Exception as error: return type(error).__name__, getattr(error, 'name', None)\n"
    more += "print(HAS, isinstance(caliban_plain, types.ModuleType), hasattr(caliban_plain, '__path__'))\n"
    more += "print(said('from caliban_plain import lacks'), said('caliban_plain.lacks'))\n"
    more += "print(said('import caliban_plain.lacks'), importlib.reload(caliban_plain) is caliban_plain)\n"
    more += "print(caliban_plain.__doc__, repr(caliban_plain), type(typing).__mro__[-2:])\n"
    _, words = site.run(more)
    assert "('ImportError', 'caliban_plain') ('AttributeError', 'lacks')" in words
    assert site.run(more) == (23, words)
    kind = "print(type(sys.modules['caliban_plain']).__name__, type(loaded[0]).__name__)\n"
    quick = "QuickModule" if sys.version_info < (3, 12) else "module"
    assert site.run(f"import caliban_plain\n{kind}")[1].endswith(f"{quick} module\n")


def test_a_module_that_makes_its_names_makes_them_while_it_is_imported_too(site: Site) -> None:
    folder = site.folder / "caliban_lazy"
    folder.mkdir()
    init = "def __getattr__(name):\n    if name == 'made': return 7\n    raise AttributeError(name)\n"
    init += "from caliban_lazy.inner import TAKEN\n"
    (folder / "__init__.py").write_text(init, encoding="utf-8")
    (folder / "inner.py").write_text("from caliban_lazy import made as TAKEN\n", encoding="utf-8")
    late = "globals()['__get' + 'attr__'] = lambda name: name\n"
    (site.folder / "caliban_late.py").write_text(late, encoding="utf-8")
    more = (
        "import caliban_lazy, caliban_late; print(caliban_lazy.TAKEN, caliban_lazy.made, caliban_late.any)\n"
    )
    _, words = site.run(more)
    assert words.endswith("7 7 any\n")
    assert site.run(more) == (23, words)


def test_a_module_that_has_changed_is_loaded_as_it_is_now(site: Site) -> None:
    site.run()
    site.write("m0", 22)
    count, words = site.run()
    assert count == 22
    assert words.startswith("22 1 ")


def test_one_of_the_same_size_is_known_by_its_time(site: Site) -> None:
    site.run()
    site.write("m0", 2)
    os.utime(site.folder / "parts" / "m0.py", ns=(1, 1))
    assert site.run()[1].startswith("2 1 ")


def test_a_module_that_is_gone_is_missed(site: Site) -> None:
    site.run()
    (site.folder / "parts" / "inner" / "leaf.py").unlink()
    with pytest.raises(AssertionError, match="ModuleNotFoundError"):
        site.run()


def test_a_new_module_on_the_path_may_hide_another_and_does(site: Site) -> None:
    site.run()
    (site.folder / "colorsys.py").write_text("HIDDEN = True\n", encoding="utf-8")
    count, words = site.run("import colorsys; print(colorsys.HIDDEN)")
    assert count == 0
    assert words.endswith("True\n")


def test_a_package_that_lies_elsewhere_has_its_own_modules(site: Site, tmp_path: Path) -> None:
    site.run()
    other = tmp_path / "other" / "parts"
    other.mkdir(parents=True)
    (other / "extra.py").write_text("", encoding="utf-8")
    (other / "m3.py").write_text("VALUE = 'other'\n", encoding="utf-8")
    more = f"sys.modules['parts'].__path__[:] = [{str(other)!r}]; del sys.modules['parts.m3']\n"
    more += "import parts.m3; print(sys.modules['parts.m3'].VALUE)"
    assert site.run(more)[1].endswith("other\n")


def test_sources_and_resources_are_read_as_ever(site: Site) -> None:
    (site.folder / "parts" / "data.txt").write_text("told", encoding="utf-8")
    site.write("m1", "0\ndef fails():\n    raise ValueError('here')  # the line of the source")
    site.run()
    more = "import importlib.resources as r, inspect, traceback, parts, parts.m1\n"
    more += "print((r.files(parts) / 'data.txt').read_text(), inspect.getsource(parts.m1.fails))\n"
    more += "try:\n    parts.m1.fails()\nexcept ValueError:\n    traceback.print_exc(file=sys.stdout)\n"
    count, words = site.run(more)
    assert count == 23
    assert "told def fails" in words
    assert words.count("# the line of the source") == 2


def test_modules_are_reloaded_from_their_sources(site: Site) -> None:
    site.run()
    path = site.folder / "parts" / "m2.py"
    more = f"open({str(path)!r}, 'w').write('VALUE = 555'); import parts.m2\n"
    more += "print(importlib.reload(parts.m2).VALUE)"
    assert site.run(more)[1].endswith("555\n")


def test_what_others_can_write_is_not_read(site: Site) -> None:
    site.run()
    assert site.run(owner=os.geteuid() + 1)[0] == 0
    site.place.chmod(0o664)
    assert site.run()[0] == 0


def test_a_link_is_not_followed(site: Site, tmp_path: Path) -> None:
    site.run()
    site.place.rename(tmp_path / "elsewhere")
    site.place.symlink_to(tmp_path / "elsewhere")
    assert site.run()[0] == 0
    assert not site.place.is_symlink()  # the next file took its place
    assert site.run()[0] == 23


def test_without_byte_code_there_is_no_file(site: Site) -> None:
    assert site.run("", "-B")[0] == 0
    assert not site.place.exists()


def test_optimised_code_is_not_what_the_file_of_others_has(site: Site) -> None:
    site.run()
    assert site.run("", "-O")[0] == 0
    more = "print(all(module.__cached__.endswith('.opt-1.pyc') for module in loaded))"
    count, words = site.run(more, "-O")
    assert (count, words.endswith("True\n")) == (23, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_is_left_alone(site: Site) -> None:
    site.place.parent.chmod(0o555)
    try:
        assert site.run()[0] == 0
    finally:
        site.place.parent.chmod(0o755)


@pytest.mark.parametrize("cut", [0, 1, 7, 8, 15, 16, 100, 5_000, -1, -500])
def test_a_file_that_was_cut_off_is_passed_over_and_written_anew(site: Site, cut: int) -> None:
    site.run()
    whole = site.place.read_bytes()
    site.place.write_bytes(whole[:cut])
    count, words = site.run()
    assert (count, words.startswith("1 1 ")) == (0, True)
    assert site.run()[0] == 23


@pytest.mark.parametrize("place", [9, 30, 4_000])
def test_a_byte_of_the_index_that_has_changed_is_noticed(site: Site, place: int) -> None:
    site.run()
    data = bytearray(site.place.read_bytes())
    data[place] ^= 1
    site.place.write_bytes(bytes(data))
    assert site.run()[0] == 0
    assert site.run()[0] == 23


def test_code_that_cannot_be_read_comes_from_where_it_came_before(site: Site) -> None:
    site.run()
    data = bytearray(site.place.read_bytes())
    length = int.from_bytes(data[:8], "little")
    _, _, entries, _ = marshal.loads(data[16 : 16 + length])
    for name, (*_, offset, size) in entries.items():
        if name.startswith("parts."):
            data[offset : offset + size] = b"\0" * size
    site.place.write_bytes(bytes(data))
    assert site.run()[1].startswith("1 1 ")


@given(data=st.binary(max_size=400))
def test_garbage_is_no_file(data: bytes, tmp_path_factory: Any) -> None:
    place = tmp_path_factory.getbasetemp() / f"garbage-{os.getpid()}.pack"
    place.write_bytes(data)
    cache, before = ImportCache(str(place), os.geteuid()), list(sys.meta_path)
    cache.install()
    assert sys.meta_path == before


def test_two_that_write_at_once_leave_one_whole_file(site: Site) -> None:
    owner = os.geteuid()
    text = PROGRAM.format(site=str(site.folder), place=str(site.place), owner=owner, more="")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    both = [
        subprocess.Popen([sys.executable, "-c", text], env=environ, stdout=subprocess.DEVNULL)
        for _ in range(4)
    ]
    assert [one.wait() for one in both] == [0] * 4
    assert site.run()[0] == 23
    assert [path.name for path in site.place.parent.iterdir() if path.name.startswith("start.pack.")] == []


ODD = {
    "__init__": "from odd import one\n",
    "one": "import odd.two\nONE = 1\nfrom odd.two import SEEN\n",
    "two": "import sys, odd.one\nSEEN = hasattr(sys.modules['odd.one'], 'ONE')\n",
    "another": "import sys, types\nsys.modules[__name__] = types.SimpleNamespace(KIND='another')\n",
    "moody": "import builtins\nif getattr(builtins, 'MOOD', 0): raise ValueError('not today')\nFINE = 1\n",
    "hidden": "import sys, builtins\nif getattr(builtins, 'MOOD', 0): del sys.modules[__name__]\n",
    "deep/__init__": "",
    "deep/leaf": "from odd.deep import *\nLEAF = 1\n",
}
LOOKS = """\
def attempt(line):
    try:
        exec(line)
    except Exception as error:
        return type(error).__name__, str(error)
import builtins
builtins.MOOD = {mood}
{before}
print(attempt('import odd.moody'), 'odd.moody' in sys.modules, hasattr(sys.modules['odd'], 'moody'))
print(attempt('import odd.hidden'), 'odd.hidden' in sys.modules)
builtins.MOOD = 0
print(attempt('import odd.moody'), sys.modules['odd'].moody.FINE)
import odd.another, odd.deep.leaf
print(odd.another.KIND, odd.one.SEEN, odd.one.ONE, odd.deep.leaf.LEAF, odd.deep is sys.modules['odd.deep'])
print(attempt('import odd.one.more'), attempt('import odd.nothing'), attempt('from odd import nothing'))
specs = [getattr(module, '__spec__', None) for module in sys.modules.values()]
print([spec.name for spec in specs if getattr(spec, '_initializing', False)])
sys.modules['odd.deep.gone'] = None
print(attempt('import odd.deep.gone'))
{behind}
"""
THREAD = (
    "import threading\nover = threading.Event()\nthread = threading.Thread(target=over.wait)\nthread.start()"
)


@pytest.mark.parametrize("before", ["", THREAD, "sys.meta_path.insert(0, sys.meta_path[-1])"])
def test_odd_modules_are_loaded_as_the_interpreter_loads_them(site: Site, before: str) -> None:
    for name, text in ODD.items():
        path = site.folder / "odd" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    behind = "over.set()" if before == THREAD else ""
    site.run(LOOKS.format(mood=0, before="", behind=""))
    site.place.rename(site.place.with_suffix(".kept"))
    _, ordinary = site.run(LOOKS.format(mood=1, before=before, behind=behind), "-B")
    site.place.with_suffix(".kept").rename(site.place)
    count, words = site.run(LOOKS.format(mood=1, before=before, behind=behind))
    assert (count, words) == (23, ordinary)
    assert "('ValueError', 'not today') False False" in words and "another False 1 1 True" in words


def test_who_wants_to_hear_of_imports_hears_of_all(site: Site) -> None:
    site.run()
    assert site.run("", "-v")[0] == 23
    more = "seen = []\nsys.addaudithook(lambda event, _: event == 'import' and seen.append(_[0]))\n"
    more += "import json.tool\nprint(seen)"
    assert "'json.tool'" in site.run(more)[1] and "'json.tool'" in site.run(more)[1]


def test_threads_that_import_one_module_wait_until_it_is_whole(site: Site) -> None:
    # No event says that the others stand in their import statements: they have this long to get there, and
    # whoever does not wait there takes a module without the name.
    site.write("m3", "__import__('time').sleep(0.05) or 1\nLATE = 1")
    more = "import threading\nparts = [name for name in sys.modules if name.startswith('parts')]\n"
    more += "for name in parts: del sys.modules[name]\n"
    more += "seen, gate = [], threading.Barrier(8)\n"
    more += "def take():\n    gate.wait()\n    from parts.m3 import LATE\n    seen.append(LATE)\n"
    more += "threads = [threading.Thread(target=take) for _ in range(8)]\n"
    more += "[thread.start() for thread in threads]\n[thread.join() for thread in threads]\n"
    more += (
        "from importlib import _bootstrap\nprint(seen, type(sys.modules['parts.m3'].__loader__).__name__)\n"
    )
    more += "print(_bootstrap._find_and_load.__qualname__)"
    site.run()
    count, words = site.run(more)
    assert count == 23
    assert words.endswith(f"{[1] * 8} CachedLoader\nImportCache._load\n")
