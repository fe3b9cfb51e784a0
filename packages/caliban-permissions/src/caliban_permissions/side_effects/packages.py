"""Rows for package managers and the runners that come with them."""

from __future__ import annotations

from collections.abc import Mapping

from caliban_permissions.side_effects.row import FETCHES, LOADS, RUNS, ArgumentRule

TAKES: Mapping[str, str] = {"npm": "wC", "pnpm": "CF", "yarn": "", "pip": "rceit", "uv": "p", "nix": "I"}

TAKES_LONG: Mapping[str, str] = {
    "npm": "prefix workspace userconfig globalconfig registry loglevel cache",
    "pnpm": "dir filter loglevel",
    "yarn": "cwd",
    "uv": "directory project config-file cache-dir python color",
    "pip": "log proxy timeout cache-dir python index-url",
    "poetry": "directory project",
}

_NODE_MANAGERS = "npm pnpm yarn bun cnpm"
_NPM_SUBCOMMANDS = (
    "test t tst run run-script rum urn start stop restart ci clean-install install i ls list la ll "
    "outdated audit view info "
    "show v explain why fund help help-search root prefix ping pack prune dedupe ddp rebuild rb "
    "search s find doctor "
    "diff docs home bugs issues repo query sbom version whoami bin uninstall remove rm un update up upgrade"
)

ROWS: tuple[ArgumentRule, ...] = (
    ArgumentRule(
        _NODE_MANAGERS,
        RUNS,
        subs="exec x dlx create init explore edit node repl bin",
        match=r"^(?:exec|x|dlx|create|init|explore|edit|node|repl)$",
        hits=("npm exec a", "npm x a", "pnpm dlx a", "yarn dlx a", "npm init evil", "bun x a"),
        misses=("npm test", "npm run build", "yarn build"),
    ),
    ArgumentRule(
        "npm cnpm",
        RUNS,
        unless=_NPM_SUBCOMMANDS,
        hits=("npm exe a", "npm ex a", "npm pkg set a=b", "npm trust x"),
        misses=("npm test", "npm run build", "npm ci", "npm ls"),
    ),
    ArgumentRule(
        _NODE_MANAGERS,
        RUNS,
        short="c",
        long="script-shell shell call node-options init-module shell-emulator scripts-prepend-node-path "
        "git editor viewer browser userconfig globalconfig onload-script dir cwd config "
        "use-yarnrc preload require modules-folder virtual-store-dir",
        hits=("npm test --script-shell=./p.sh", "npm --node-options=x test", "npm -c x", "yarn --cwd ../x"),
        misses=("npm test", "npm run lint -- --fix", "npm ci --silent"),
    ),
    ArgumentRule(
        _NODE_MANAGERS,
        LOADS,
        subs="config c set get publish link ln unlink adopt login token profile owner access hook "
        "plugin patch",
        match=r"^(?:set|config|c|publish|link|ln|login|token|owner|access|hook|plugin|patch|delete|edit)$",
        hits=("npm config set script-shell x", "npm publish", "npm set a=b", "yarn plugin import x"),
        misses=("npm ls", "npm outdated"),
    ),
    ArgumentRule(
        _NODE_MANAGERS,
        FETCHES,
        subs="install i add in ins isntall update up upgrade global",
        operands=2,
        hits=("npm install evil", "npm i evil", "yarn add evil", "pnpm add evil"),
        misses=("npm install", "npm ci", "yarn install"),
    ),
    ArgumentRule(
        "pip pipx easy_install pip-compile pip-sync",
        FETCHES,
        subs="install download wheel inject run runpip upgrade-all reinstall config cache",
        operands=1,
        hits=("pip install x", "pip install -r x", "pip3 download x", "pip wheel .", "pip config set a b"),
        misses=("pip list", "pip freeze", "pip show x", "pip check"),
    ),
    ArgumentRule(
        "pip",
        LOADS,
        long="python log config-settings global-option target root prefix",
        hits=("pip --python x list", "pip --log x list"),
        misses=("pip list --outdated",),
    ),
    ArgumentRule(
        "uv",
        RUNS,
        subs="run tool x add sync pip init build publish python self venv lock remove",
        operands=2,
        hits=("uv run a", "uv tool run a", "uv pip install a", "uv add a"),
        misses=("uv sync", "uv lock", "uv --version"),
    ),
    ArgumentRule(
        "uv",
        LOADS,
        long="config-file directory project python with with-requirements env-file extra-index-url "
        "index index-url default-index",
        hits=("uv --directory x sync",),
        misses=("uv sync",),
    ),
    ArgumentRule(
        "poetry pipenv pdm hatch rye pixi",
        RUNS,
        subs="run shell env exec install add self script python init new publish config source",
        operands=2,
        hits=("poetry run a", "pipenv run a", "hatch run a", "poetry config a b", "poetry add a"),
        misses=("poetry install", "poetry show", "poetry check"),
    ),
    ArgumentRule(
        "poetry pipenv pdm hatch",
        LOADS,
        short="CPp",
        long="directory project config python",
        hits=("poetry -C x install",),
        misses=("poetry show --tree",),
    ),
    ArgumentRule(
        "bundle gem bundler",
        RUNS,
        subs="exec install console open config gem plugin env init fetch push build unpack cleanup add",
        operands=2,
        hits=("bundle exec a", "gem install x", "bundle config set a b", "bundle open x"),
        misses=("bundle install", "gem list", "bundle check"),
    ),
    ArgumentRule(
        "composer",
        RUNS,
        unless="show validate outdated licenses diagnose status check-platform-reqs install",
        short="d",
        long="working-dir",
        hits=("composer exec x", "composer require x", "composer run-script x", "composer -d x show"),
        misses=("composer show", "composer install"),
    ),
    ArgumentRule(
        "rustup",
        RUNS,
        unless="show check which help doc",
        hits=("rustup run nightly x", "rustup toolchain link a b"),
        misses=("rustup show",),
    ),
    ArgumentRule(
        "npx bunx pnpx uvx",
        RUNS,
        short="cep",
        long="call package from with eval import require loader",
        operands=1,
        leading=True,
        hits=("npx -c x", "npx evil", "uvx evil", "npx --package=x y", "npx -p evil tsc", "npx tsc -p x"),
        misses=("npx --version",),
    ),
    ArgumentRule(
        "tsx ts-node esno tldx pipx zx",
        RUNS,
        short="cep",
        long="call package from with eval import require loader",
        operands=1,
        hits=("pipx run x", "tsx -e x", "ts-node x.ts"),
        misses=("tsx --version",),
    ),
    ArgumentRule(
        "nix nix-shell nix-build guix direnv mise asdf devbox dotenv",
        RUNS,
        operands=1,
        hits=("nix-shell --run x", "nix run x", "mise exec -- x", "direnv exec . x"),
        misses=("nix --version",),
    ),
)
