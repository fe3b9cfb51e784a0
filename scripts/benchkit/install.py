"""An installed copy to measure: wheels in a virtual environment, as a user has it, not an editable one."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def installed_copy(uv: str, python: str = sys.executable) -> Path:
    """The `bin` folder of an environment with every wheel of this repository, made once per content.

    `python` is the interpreter that runs it. It matters: one that was compiled along a profile, as Debian's
    and uv's are, starts a sixth quicker than one that was compiled with `-O3` alone, as pyenv's are.
    """
    version = interpreter(python)
    home = Path(tempfile.gettempdir()) / f"caliban-bench-{os.getuid()}" / fingerprint(version)
    binaries = home / "venv" / "bin"
    if not (home / "ready").exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True, mode=0o700)
        say(f"building wheels and installing them into {home} (once per content)")
        build(uv, home, python)
        (home / "ready").touch()
    return binaries


def build(uv: str, home: Path, interpreter: str) -> None:
    """Build every wheel into `home/dist` and install them into `home/venv` at the versions of the lock."""
    dist, python, pins = home / "dist", home / "venv" / "bin" / "python", home / "pins.txt"
    quiet = ("--quiet", "--project", str(ROOT))
    call(uv, "build", *quiet, "--all-packages", "--wheel", "-o", str(dist))
    export = ("export", *quiet, "--frozen", "--no-hashes", "--no-emit-workspace", "--no-default-groups")
    call(uv, *export, "-o", str(pins))
    call(uv, "venv", "--quiet", "--python", interpreter, str(home / "venv"))
    wheels = [str(path) for path in sorted(dist.glob("*.whl"))]
    install = ("pip", "install", "--quiet", "--compile-bytecode", "--python", str(python))
    call(uv, *install, "--constraint", str(pins), *wheels)


def interpreter(python: str) -> str:
    """Version, date of the build and compiler of `python`; one that does not run ends the benchmark."""
    command = (python, "-c", "import sys; print(' '.join(sys.version.split()))")
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"bench: --python {python}: {error}")
    return done.stdout.strip()


def fingerprint(version: str) -> str:
    """A digest of everything that the wheels are made of, and of the interpreter."""
    digest = hashlib.sha256(version.encode())
    files = [ROOT / "uv.lock", *ROOT.glob("*/*/pyproject.toml"), *ROOT.glob("*/*/README.md")]
    files += [
        path for path in ROOT.glob("*/*/src/**/*") if path.is_file() and "__pycache__" not in path.parts
    ]
    for path in sorted(files):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def call(*command: str) -> None:
    """Run a command; its failure ends the benchmark."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        sys.exit(f"bench: {' '.join(command[:3])} failed with {done.returncode}")


def say(text: str) -> None:
    """Tell the person what takes time, on stderr."""
    print(f"bench: {text}", file=sys.stderr)
