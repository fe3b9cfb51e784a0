import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from conftest import Scene

FILES = [
    "src/app.py",
    "src/util.py",
    "tests/test_app.py",
    "README.md",
    "package.json",
    "log.txt",
    "notes.txt",
    "a.txt",
    "b.txt",
    "docs/index.md",
    "sub/Makefile",
    "sub/x.py",
    "Makefile",
    "archive.zip",
    "archive.tar.gz",
    "docker-compose.yml",
    "tsconfig.json",
]


def scene(tmp):
    s = Scene(Path(os.path.realpath(tmp)))
    s.workspace.mkdir()
    s.home.mkdir()
    s.add(*FILES)
    subprocess.run(["git", "init", "-q", str(s.workspace)], check=True)
    return s


if __name__ == "__main__":
    s = scene(tempfile.mkdtemp())
    groups = json.load(open(Path(__file__).parent / "everyday/lines.json"))
    n = asked = 0
    for g, d in groups.items():
        rules = [("allow", r) for r in d["rules"]]
        e = s.engine(*rules)
        for l in d["lines"]:
            n += 1
            x = e.explain(s.spec("Bash"), {"command": l})
            if x.verdict != "allow":
                asked += 1
                if "-v" in sys.argv:
                    print(g, "|", l.replace("\n", "\\n"), "|", x.reason[:230].replace("\n", "\\n"))
    print(n, asked, f"{100 * asked / n:.1f}%")
