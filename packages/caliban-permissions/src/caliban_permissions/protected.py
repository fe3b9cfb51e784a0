"""Files that decide what runs later, so that no mode and no wildcard may change them unasked.

Three classes. *Authority* files configure this program, git, shells, editors and other agents: only a rule
that names the file exactly covers them. *Build* files run code at the next build, test or install, *steering*
files are read by agents as instructions: a mode never covers them, an allow rule of the user does.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Literal, TypeAlias

from caliban_permissions.paths import Parts, PathContext, folded, split

Protection: TypeAlias = Literal["authority", "build", "steering"]

WHY: Mapping[Protection, str] = {
    "authority": "it decides what runs here",
    "build": "it runs code at the next build, test or install",
    "steering": "agents take it as instructions",
}
"""What to tell a person about a file of each class."""


_DIRECTORIES = frozenset(
    ".git .caliban .claude .cursor .codex .gemini .continue .windsurf .roo .opencode .crush .goose .amazonq "
    ".agents .vscode .idea .zed .fleet .husky .githooks .devcontainer .circleci .buildkite .ssh .gnupg .aws "
    ".azure .kube .docker .gcloud .terraform.d .direnv .mise .asdf .oh-my-zsh .vim .nvim .emacs.d .zsh .pki "
    ".password-store .mozilla .jj .hg .svn".split()
)
_PAIRS = frozenset(
    {
        (".github", "workflows"),
        (".github", "actions"),
        (".gitlab", "ci"),
        (".venv", "bin"),
        (".venv", "scripts"),
        ("venv", "bin"),
        ("venv", "scripts"),
        ("node_modules", ".bin"),
        (".yarn", "releases"),
        (".yarn", "plugins"),
        (".config", "caliban"),
        (".config", "git"),
        (".config", "fish"),
        (".config", "systemd"),
        (".config", "autostart"),
        (".config", "gcloud"),
        (".config", "gh"),
        (".config", "nvim"),
        (".config", "powershell"),
        ("caliban", "sessions"),
        ("library", "launchagents"),
        ("share", "caliban"),
        ("state", "caliban"),
        ("application support", "caliban"),
        ("local", "bin"),
        (".local", "bin"),
        (".cargo", "bin"),
    }
)
_NAMES = frozenset(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin "
    ".zlogout .kshrc .cshrc .tcshrc .login .inputrc .xinitrc .xprofile .xsession .pam_environment .gitconfig "
    ".gitmodules .gitattributes .hgrc .mcp.json .netrc .npmrc .yarnrc .yarnrc.yml .pnpmrc .pypirc .envrc "
    ".direnvrc .tmux.conf .screenrc .vimrc .gvimrc .exrc .nvimrc .emacs .curlrc .wgetrc .my.cnf .psqlrc "
    ".sqliterc .gdbinit .lldbinit .pythonrc .pythonstartup .rprofile .irbrc .pryrc .ackrc .ripgreprc "
    ".caliban.toml caliban.toml .aider.conf.yml .cursorrules .windsurfrules .tool-versions mise.toml "
    ".mise.toml .pre-commit-config.yaml lefthook.yml .gitlab-ci.yml .travis.yml appveyor.yml jenkinsfile "
    "azure-pipelines.yml bitbucket-pipelines.yml crontab authorized_keys known_hosts credentials "
    "managed-settings.toml managed-settings.json sitecustomize.py usercustomize.py .pdbrc .lesskey "
    ".lessfilter "
    ".dir-locals.el".split()
)
READ_BY_THEMSELVES = (
    ".git .caliban .claude .cursor .codex .gemini .continue .windsurf .roo .opencode .crush .goose .agents "
    ".vscode .idea .zed .fleet .husky .githooks .devcontainer .circleci .buildkite .github/workflows "
    ".github/actions .envrc .mcp.json .pre-commit-config.yaml lefthook.yml .gitlab-ci.yml .exrc "
    ".caliban.toml "
    "caliban.toml .bashrc .bash_profile .bash_login .profile .zshrc .zshenv .zprofile .zlogin"
).split()
"""At the top of a workspace, what some program of the person reads by itself as soon as it is there, and
whose absence nobody builds on. Commands in a sandbox cannot make these."""
_SYSTEM = frozenset("etc bin sbin usr lib lib32 lib64 boot sys proc dev system windows".split())
_BUILD_NAMES = frozenset(
    "package.json makefile gnumakefile bsdmakefile justfile .justfile taskfile.yml taskfile.yaml rakefile "
    "gemfile setup.py noxfile.py tox.ini build.rs build.gradle build.gradle.kts settings.gradle "
    "settings.gradle.kts gradle.properties gradlew gradlew.bat mvnw mvnw.cmd pom.xml build.xml build.sbt "
    "cmakelists.txt meson.build sconstruct wscript mix.exs dockerfile containerfile docker-compose.yml "
    "docker-compose.yaml compose.yml compose.yaml gulpfile.js gruntfile.js .pnpmfile.cjs composer.json "
    "podfile "
    "package.swift build.bazel workspace.bazel module.bazel .bazelrc flake.nix shell.nix "
    "default.nix vagrantfile procfile tiltfile earthfile dagger.json configure configure.ac binding.gyp "
    "build.zig rebar.config project.clj deps.edn cargo-config.toml procfile.dev bunfig.toml deno.json "
    "conftest.py pytest.ini .pytest.ini .coveragerc spec_helper.rb rails_helper.rb "
    "test_helper.rb test_helper.exs .rspec phpunit.xml phpunit.xml.dist karma.conf.js wdio.conf.js "
    "wdio.conf.ts "
    "codeception.yml behat.yml".split()
)
_BUILD_PAIRS = frozenset({(".cargo", "config.toml"), (".cargo", "config")})
_BUILD_GLOBS = (
    "jest.setup.*",
    "jest-setup.*",
    "vitest.setup.*",
    "setuptests.*",
    "setup-tests.*",
    ".nycrc*",
    "*.mk",
    "*.pth",
    "*.gemspec",
    "*.podspec",
    "makefile.*",
    "dockerfile.*",
    "*.dockerfile",
    "*.config.js",
    "*.config.cjs",
    "*.config.mjs",
    "*.config.ts",
    "*.config.mts",
    "*.config.cts",
    ".eslintrc*",
    ".babelrc*",
    ".mocharc*",
    ".prettierrc*.js",
    ".swcrc",
)

_STEERING_NAMES = frozenset(
    "claude.md claude.local.md agents.md agents.override.md agent.md gemini.md qwen.md warp.md "
    "codex.md crush.md "
    "opencode.md copilot-instructions.md .caliban.md caliban.md skill.md replit.md .clinerules .roorules "
    ".goosehints .continuerules .aider.conventions.md".split()
)
_STEERING_GLOBS = ("*.instructions.md", "*.prompt.md", "*.chatmode.md", "*.agent.md", "*.mdc")
_STEERING_DIRECTORIES = frozenset(".clinerules .junie .kiro .trae .augment .openhands".split())


def protection(canonical: str, place: PathContext) -> Protection | None:
    """Which class a canonical path is in. Only the part below the workspace counts when it is inside."""
    parts = folded(split(canonical))
    home = folded(split(place.home))
    inside = _below(parts, place)
    below = parts if inside is None else inside
    if inside is None and parts[: len(home)] == home:
        below = parts[len(home) :]
    if inside is None and parts and parts[0] in _SYSTEM and canonical not in ("/dev/null",):
        return "authority"
    if not below:
        return None
    if _DIRECTORIES.intersection(below) or below[-1] in _NAMES:
        return "authority"
    if any(pair in _PAIRS for pair in pairwise(below)):
        return "authority"
    named = below[-1] in _BUILD_NAMES or below[-2:] in _BUILD_PAIRS
    if named or any(fnmatchcase(below[-1], glob) for glob in _BUILD_GLOBS):
        return "build"
    if below[-1] in _STEERING_NAMES or _STEERING_DIRECTORIES.intersection(below):
        return "steering"
    return "steering" if any(fnmatchcase(below[-1], glob) for glob in _STEERING_GLOBS) else None


def protected_entries(root: str, place: PathContext) -> tuple[str, ...]:
    """The authority paths at the top of the directory `root`, for a sandbox: those that are there, and more.

    Some are named before they exist. What lies deeper is not looked for, but for pairs such as `.venv/bin`.
    """
    entries = {f"{root}/{name}": None for name in READ_BY_THEMSELVES}
    for path in _entries(root):
        if protection(path, place) == "authority":
            entries[path] = None
        elif split(path)[-1].lower() in {first for first, _ in _PAIRS}:
            entries.update(
                (below, None) for below in _entries(path) if protection(below, place) == "authority"
            )
    return tuple(entries)


def _entries(folder: str) -> list[str]:
    try:
        return sorted(entry.path for entry in os.scandir(folder))
    except OSError:
        return []


def _below(parts: Parts, place: PathContext) -> Parts | None:
    """The part below the workspace or a root; `None` outside of them."""
    for root in (place.workspace, *place.roots):
        top = folded(split(root))
        if parts[: len(top)] == top:
            return parts[len(top) :]
    return None
