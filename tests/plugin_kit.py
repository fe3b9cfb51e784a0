"""Plugins of three public layouts, by shape, with content of our own; and archives, good and bad."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

PORTABLE = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
PORTABLE_MCP = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"

Files = Mapping[str, str]


def write(folder: Path, files: Files) -> Path:
    """Write `files` below `folder`; scripts may be run."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if name.endswith(".sh"):
            path.chmod(0o755)
    return folder


def skill(name: str, body: str = "Do it.", description: str = "when it is needed") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n{body}\n"


def claude(version: str = "1.0.0", *, word: str = "first") -> dict[str, str]:
    """The layout of Claude Code, with every kind of part."""
    return {
        ".claude-plugin/plugin.json": json.dumps(
            {"name": "kit", "version": version, "description": "a kit", "author": {"name": "A"}}
        ),
        "commands/greet.md": "---\ndescription: greets\n---\nGreet $ARGUMENTS as the " + word + " would.\n",
        "agents/checker.md": "---\nname: checker\ndescription: checks\n---\nCheck it.\n",
        "skills/tidy/SKILL.md": skill("Tidy Up", f"Tidy by ${{CLAUDE_PLUGIN_ROOT}}/tidy.sh, {word}."),
        "output-styles/terse.md": "---\ndescription: terse\nforce-for-plugin: true\n---\nSpeak tersely.\n",
        "themes/dark.json": "{}",
        "hooks/hooks.json": json.dumps(
            {
                "description": "tells",
                "hooks": {
                    "UserPromptSubmit": [
                        {"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/hooks/say.sh"}]}
                    ]
                },
            }
        ),
        "hooks/say.sh": f"#!/bin/sh\necho the hook says {word}\n",
        ".mcp.json": json.dumps(
            {"mcpServers": {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/db", "args": ["--x"]}}}
        ),
    }


def portable(version: str = "0.1.0", *, word: str = "first") -> dict[str, str]:
    """Agent Plugins 1.0: skills and servers in fixed places."""
    return {
        "plugin.json": json.dumps(
            {"$schema": PORTABLE, "name": "acme.notes", "version": version, "extensions": {"com.x": {}}}
        ),
        "skills/summarize/SKILL.md": skill("summarize", f"Summarize, {word}."),
        "mcp.json": json.dumps(
            {
                "$schema": PORTABLE_MCP,
                "mcpServers": {"n": {"type": "streamable-http", "url": "https://n.example/mcp"}},
            }
        ),
    }


def collection(word: str = "first") -> dict[str, str]:
    """A marketplace that is a folder of skills: its plugins have no manifests, and share the folder."""
    return {
        ".claude-plugin/marketplace.json": json.dumps(
            {
                "name": "many-skills",
                "owner": {"name": "B"},
                "metadata": {"version": "1"},
                "plugins": [
                    {
                        "name": "paper",
                        "description": "on paper",
                        "source": "./",
                        "strict": False,
                        "skills": ["./skills/fold", "./skills/cut"],
                    },
                    {"name": "metal", "source": "./", "strict": False, "skills": ["./skills/weld"]},
                ],
            }
        ),
        "skills/fold/SKILL.md": skill("fold", f"Fold, {word}."),
        "skills/cut/SKILL.md": skill("cut"),
        "skills/weld/SKILL.md": skill("weld"),
        "README.md": "many\n",
    }


def git(folder: Path, *words: str) -> str:
    """Run git in `folder` as somebody who has no settings of their own."""
    env = {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{
            f"GIT_{who}_{what}": "t@example.com"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }
    done = subprocess.run(["git", *words], cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path) -> str:
    """All of `folder` as a commit; which one it is."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")
    return git(folder, "rev-parse", "HEAD")


def tar_gz(files: Files, *, top: str = "") -> bytes:
    """An archive of `files`."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name, text in files.items():
            add(tar, top + name, text.encode())
    return data.getvalue()


def add(tar: tarfile.TarFile, name: str, data: bytes = b"", **facts: object) -> None:
    """One member; `facts` are those of its header."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    info.mode = 0o755 if name.endswith(".sh") else 0o644
    for fact, value in facts.items():
        setattr(info, fact, value)
    tar.addfile(info, io.BytesIO(data))


def zipped(files: Files) -> bytes:
    """The same as a zip."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


def bomb(size: int) -> bytes:
    """A tar.gz with one file of `size` bytes of nothing."""
    data = io.BytesIO()
    info = tarfile.TarInfo("big")
    info.size = size
    with gzip.GzipFile(fileobj=data, mode="wb", compresslevel=6) as packed:
        packed.write(info.tobuf())
        for _ in range(size >> 20):
            packed.write(bytes(1 << 20))
    return data.getvalue()


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def left_behind(home: Path) -> list[str]:
    """What of plugins is below a home."""
    places = (home / ".local" / "share" / "caliban" / "plugins", home / ".cache" / "caliban" / "plugins")
    return sorted(
        str(path.relative_to(home))
        for place in places
        for path in (place, *place.rglob("*"))
        if path.exists()
    )
