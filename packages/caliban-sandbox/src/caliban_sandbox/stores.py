"""Where keys, tokens and histories lie: what no command in a sandbox may read (SB4)."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import os
from typing import Final

_HOME: Final = (
    # keys and what unlocks them
    ".ssh .gnupg .pki .password-store .age .local/share/keyrings .kde/share/apps/kwallet "
    ".local/share/kwalletd "
    ".1password .vault-token Library/Keychains "
    # clouds, clusters and registries
    ".aws .azure .kube .docker .oci .minikube .helm .s3cfg .boto .databrickscfg .terraform.d .terraformrc "
    ".fly "
    ".netlify .vercel .kaggle .huggingface .cache/huggingface/token .snowsql .ibmcloud .bluemix .aliyun "
    # sources and packages
    ".netrc .git-credentials .gitcookies .npmrc .yarnrc.yml .pypirc .gem/credentials .bundle/config "
    ".cargo/credentials .cargo/credentials.toml .m2/settings.xml .m2/settings-security.xml "
    ".gradle/gradle.properties .nuget/NuGet/NuGet.Config .composer/auth.json .condarc .hex .subversion/auth "
    # data bases
    ".pgpass .my.cnf .mylogin.cnf .mongorc.js .dbshell "
    # browsers and mail
    ".mozilla .thunderbird .librewolf snap/firefox snap/chromium Library/Cookies Library/Mail "
    # histories
    ".bash_history .zsh_history .zhistory .sh_history .ash_history .history .local/share/fish/fish_history "
    ".python_history .node_repl_history .psql_history .mysql_history .sqlite_history .rediscli_history "
    ".irb_history "
    ".lesshst .viminfo .local/share/nvim/shada .wget-hsts "
    # other agents
    ".claude .claude.json .codex .gemini .cursor .continue .aider .copilot .qwen .goose .amazonq .opencode"
).split()
_CONFIG: Final = (
    "gcloud gh glab-cli hub git/credentials op rclone sops doctl hcloud heroku configstore google-chrome "
    "google-chrome-beta chromium BraveSoftware vivaldi microsoft-edge opera containers/auth.json "
    "pypoetry/auth.toml "
    "composer/auth.json helm/registry github-copilot opencode goose crush stripe ngrok flyctl pulumi supabase"
).split()
_DATA: Final = ("keyrings", "kwalletd", "opencode", "goose", "crush", "TelegramDesktop")
_SYSTEM: Final = (
    "/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/krb5.keytab /etc/sudoers /etc/sudoers.d "
    "/etc/ssl/private /etc/kubernetes /etc/rancher /var/run/secrets /run/secrets /var/spool/cron /var/lib/sss"
).split()


def credential_stores(home: str, config: str, data: str) -> tuple[str, ...]:
    """Where such things lie, be they there or not: `config` and `data` are the directories of XDG."""
    places = (
        *(f"{home}/{name}" for name in _HOME),
        *(f"{config}/{name}" for name in _CONFIG),
        *(f"{data}/{name}" for name in _DATA),
        *_SYSTEM,
    )
    return tuple(dict.fromkeys(os.path.realpath(place) for place in places))
