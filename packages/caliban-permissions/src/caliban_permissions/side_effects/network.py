"""Rows for programs that talk to other machines, to containers and to databases."""

from __future__ import annotations

from collections.abc import Mapping

from caliban_permissions.side_effects.row import FETCHES, LOADS, READS, RUNS, WRITES, ArgumentRule

TAKES: Mapping[str, str] = {
    "ssh": "BbcDEeFIiJLlmOopQRSWw",
    "scp": "cDFiJloPSX",
    "sftp": "BbcDFiJloPRSsX",
    "rsync": "eTBfM",
    "curl": "AbCcDdEeFHhKmoPQrTtUuwXxYyz",
    "wget": "aoeitTBOPQwADRUlI",
    "docker": "Hlcp",
    "podman": "c",
    "kubectl": "nsl",
    "helm": "n",
    "terraform": "",
}

TAKES_LONG: Mapping[str, str] = {
    "docker": "host context config log-level tlscacert tlscert tlskey",
    "podman": "connection url identity log-level root runroot storage-driver",
    "kubectl": "namespace context cluster user kubeconfig server token cache-dir as as-group request-timeout",
    "helm": "namespace kube-context kubeconfig",
    "aws": "profile region output query endpoint-url",
    "gcloud": "project account configuration format zone region",
}

_REMOTE = "ssh slogin autossh mosh telnet rlogin rsh"
_CONTAINERS = "docker podman nerdctl"

ROWS: tuple[ArgumentRule, ...] = (
    ArgumentRule(
        _REMOTE, RUNS, operands=1, hits=("ssh host", "ssh -p 22 host id", "telnet host"), misses=("ssh -V",)
    ),
    ArgumentRule(
        _REMOTE,
        RUNS,
        short="oFSEDLRWJIm",
        hits=("ssh -o ProxyCommand=x h", "ssh -F cfg h", "ssh -oProxyCommand=x h"),
        misses=("ssh -V",),
    ),
    ArgumentRule(
        "gpg gpg2",
        READS,
        long="export-secret-keys export-secret-subkeys export-secret-ssh-key",
        hits=("gpg --export-secret-keys", "gpg --export-secret-sub x"),
        misses=("gpg --verify a.sig", "gpg --list-keys"),
    ),
    ArgumentRule(
        "scp sftp",
        RUNS,
        short="SoFDbJ",
        hits=("scp -S ./p.sh a x:", "scp -o ProxyCommand=x a b:", "sftp -b cmds h"),
        misses=("scp -r a h:b", "scp -P 22 a h:b"),
    ),
    ArgumentRule(
        "rsync",
        RUNS,
        short="eM",
        long="rsh rsync-path remote-option daemon config",
        hits=(
            "rsync -e ./p.sh a x:",
            "rsync -ae ./p a x:",
            "rsync --rsh=x a b:",
            "rsync --rsync-path=x a b:",
        ),
        misses=("rsync -av a b", "rsync --exclude e a b", "rsync -a --delete a b"),
    ),
    ArgumentRule(
        "rsync",
        WRITES,
        long="log-file write-batch only-write-batch backup-dir partial-dir temp-dir",
        hits=("rsync --log-file=x a b",),
        misses=("rsync -a a b",),
    ),
    ArgumentRule(
        "rsync",
        READS,
        long="files-from password-file read-batch include-from! exclude-from!",
        hits=("rsync --files-from=x a b",),
        misses=("rsync --progress a b",),
    ),
    ArgumentRule(
        "curl",
        WRITES,
        short="oOcDJ",
        long="output output-dir remote-name remote-name-all remote-header-name cookie-jar dump-header trace "
        "trace-ascii stderr libcurl etag-save hsts alt-svc create-dirs create-file-mode",
        hits=("curl -o x u", "curl -sSLo x u", "curl -O u", "curl --outp x u", "curl --trace x u"),
        misses=("curl -sSL u", "curl -X POST u", "curl -H 'X: o' u", "curl -I u"),
    ),
    ArgumentRule(
        "curl",
        LOADS,
        short="KEqn",
        long="config engine netrc netrc-file netrc-optional cert key proto-default unix-socket "
        "abstract-unix-socket resolve connect-to doh-url preproxy socks5 disable",
        hits=("curl -K k", "curl -sK k", "curl --config k u", "curl --engine x u", "curl --unix-socket s u"),
        misses=("curl -k u", "curl --retry 3 u"),
    ),
    ArgumentRule(
        "curl",
        READS,
        short="T",
        long="upload-file data-urlencode url-query variable",
        match=r"^(?:-[A-Za-z]*[dFbHw])?@|=[@<]|%output\{|^(?i:file|dict|gopher|ldaps?|tftp|scp|sftp|smb|telnet|ftps?):",
        hits=(
            "curl --data-urlencode x@.env u",
            "curl -w '%output{x}' u",
            "curl -d @.env u",
            "curl -d@.env u",
            "curl -F a=@.env u",
            "curl -T x u",
            "curl file:///etc/x",
        ),
        misses=("curl -d a=1 u", "curl https://u/", "curl -F a=b u"),
    ),
    ArgumentRule(
        "wget wget2",
        WRITES,
        short="OoaPx",
        long="output-document output-file append-output directory-prefix save-cookies warc-file "
        "hsts-file rejected-log",
        hits=("wget -O x u", "wget --output-d=x u"),
        misses=("wget u", "wget -q u"),
    ),
    ArgumentRule(
        "wget wget2",
        RUNS,
        short="e",
        long="execute use-askpass config",
        hits=("wget -e use_askpass=x u", "wget --use-askpass=./p u", "wget --config=x u"),
        misses=("wget -c u",),
    ),
    ArgumentRule(
        "wget wget2",
        READS,
        short="i",
        long="input-file post-file body-file load-cookies certificate private-key",
        hits=("wget --post-file=x u", "wget -i x"),
        misses=("wget --tries=3 u",),
    ),
    ArgumentRule(
        "http https httpie xh",
        READS,
        match=r"@",
        words="-o --output -d --download --session* --config*",
        hits=("http u a@.env", "http -o x u"),
        misses=("http u a=b",),
    ),
    ArgumentRule(
        "aria2c axel",
        WRITES,
        short="odl",
        long="dir out log on-download-complete conf-path input-file",
        hits=("aria2c -o x u",),
        misses=("aria2c u",),
    ),
    ArgumentRule(
        "nc ncat netcat socat nc.traditional nc.openbsd",
        FETCHES,
        operands=1,
        short="ecklL",
        long="exec sh-exec lua-exec listen",
        hits=("nc -e /bin/sh h 1", "nc h 1", "ncat --exec x h", "socat - EXEC:sh"),
        misses=("nc --help",),
    ),
    ArgumentRule(
        "ftp lftp tftp ncftp",
        RUNS,
        operands=1,
        short="ecf",
        hits=("lftp -e '!id'", "ftp h"),
        misses=("ftp --help",),
    ),
    ArgumentRule(
        _CONTAINERS,
        RUNS,
        unless="ps images logs inspect version info stats top port diff history search help compose manifest",
        hits=(
            "docker run -v /:/h x",
            "docker exec c id",
            "docker build -f x .",
            "docker cp a b:c",
            "podman run x",
        ),
        misses=("docker ps -a", "docker logs x", "docker images"),
    ),
    ArgumentRule(
        _CONTAINERS,
        LOADS,
        short="H",
        long="host context config url connection",
        hits=("docker -H tcp://x ps", "docker --host=x ps", "podman --url x ps"),
        misses=("docker ps --all",),
    ),
    ArgumentRule(
        "docker docker-compose podman-compose nerdctl",
        RUNS,
        words="up run exec build create start restart cp pull push watch attach --file --file=* -f publish",
        subs="compose up run exec build create start restart cp pull push watch attach publish",
        hits=("docker compose run x", "docker-compose exec x id", "docker compose -f y ps"),
        misses=("docker compose ps", "docker-compose ps", "docker compose logs x"),
    ),
    ArgumentRule(
        "docker podman",
        WRITES,
        short="o",
        long="output",
        subs="save export",
        hits=("docker save -o x i",),
        misses=("docker ps",),
    ),
    ArgumentRule(
        "kubectl oc k3s microk8s",
        RUNS,
        unless="get describe logs explain version api-resources api-versions top cluster-info help "
        "options diff",
        hits=("kubectl exec p -- touch x", "kubectl apply -f x", "kubectl cp a b:c", "kubectl -n x exec p"),
        misses=("kubectl get pods", "kubectl -n x get pods", "kubectl logs p"),
    ),
    ArgumentRule(
        "kubectl oc helm",
        LOADS,
        short="s",
        long="kubeconfig plugin-dir post-renderer cache-dir server token user cluster as as-group as-uid "
        "certificate-authority client-certificate client-key insecure-skip-tls-verify "
        "tls-server-name username password",
        hits=(
            "kubectl --server=http://x get pods",
            "kubectl -s x get pods",
            "kubectl --kubeconfig=x get pods",
            "helm template --post-renderer ./p a",
        ),
        misses=("kubectl get pods -o wide",),
    ),
    ArgumentRule(
        "helm",
        RUNS,
        unless="list ls status get history show search version env help lint template",
        hits=("helm plugin install x", "helm install a b"),
        misses=("helm list", "helm status x"),
    ),
    ArgumentRule(
        "terraform tofu terragrunt pulumi",
        RUNS,
        unless="version show output validate fmt providers state graph help",
        short="",
        words="-chdir=* -plugin-dir=*",
        hits=("terraform apply", "terraform -chdir=x plan", "terraform init"),
        misses=("terraform fmt", "terraform show"),
    ),
    ArgumentRule(
        "ansible ansible-playbook ansible-console",
        RUNS,
        operands=1,
        hits=("ansible-playbook x.yml",),
        misses=("ansible --version",),
    ),
    ArgumentRule(
        "vagrant multipass lxc lima limactl colima qemu-system-x86_64 virsh",
        RUNS,
        operands=1,
        hits=("vagrant ssh -c id", "lxc exec a id"),
        misses=("vagrant --version",),
    ),
    ArgumentRule(
        "aws gcloud az gsutil rclone s3cmd",
        LOADS,
        long="endpoint-url cli-input-json config flags-file impersonate-service-account plugin ca-bundle "
        "cli-input-yaml",
        match=r"^(?:configure|config)$|^(?:file|fileb)://|^--[a-z-]+=(?:file|fileb)://",
        hits=(
            "aws --endpoint-url x s3 ls",
            "aws configure set credential_process x",
            "gcloud config set a b",
        ),
        misses=("aws s3 ls",),
    ),
    ArgumentRule(
        "rclone s3cmd",
        FETCHES,
        unless="ls lsd lsl lsf lsjson size version about listremotes la du info help",
        hits=("rclone copy a b:",),
        misses=("rclone ls a:",),
    ),
    ArgumentRule(
        "gh glab hub",
        RUNS,
        short="XFf",
        long="method field raw-field input hostname",
        subs="alias extension ext codespace cs api auth config repo gist secret ssh-key workflow",
        match=r"^(?:alias|extension|ext|codespace|cs|auth|config|gist|secret|ssh-key|clone|create|delete|edit|run)$|^-[XFf]",
        hits=(
            "gh api --method DELETE /x",
            "gh api --field a=b /x",
            "gh alias set x '!id'",
            "gh extension install x",
            "gh auth token",
            "gh api -X POST x",
        ),
        misses=("gh pr list", "gh pr view 1", "gh api repos/a/b", "gh run list"),
    ),
    ArgumentRule(
        "sendmail mail mutt mailx msmtp swaks",
        FETCHES,
        operands=1,
        short="aAiCXH",
        hits=("mail -a .env x@y",),
        misses=("mail --version",),
    ),
    ArgumentRule(
        "xdg-open open start gio sensible-browser wslview cygstart explorer",
        RUNS,
        operands=1,
        hits=("xdg-open x", "open -a Terminal x"),
        misses=("open --help",),
    ),
    ArgumentRule(
        "crontab at batch atrm systemctl service launchctl schtasks loginctl",
        RUNS,
        unless="status show list-units list-timers is-active is-enabled cat list help list-unit-files",
        short="er",
        words="-",
        hits=("crontab x", "crontab -", "systemctl start x", "crontab -e"),
        misses=("systemctl status x", "crontab -l", "systemctl --version"),
    ),
    ArgumentRule(
        "iptables nft ip ifconfig route mount umount modprobe insmod rmmod useradd usermod passwd visudo",
        "changes the system",
        operands=1,
        hits=("mount a b", "modprobe x"),
        misses=("mount", "ip --version"),
    ),
)
