"""Programs that run the program named in their arguments, and shells that run a script in theirs.

For deny and ask rules every word after a wrapper may begin the inner command: no option grammar can hide it.
For allow rules the grammar of the common wrappers is known, so that a rule can name the inner program.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from caliban_common.lazy import lazy_pattern

SHELLS = frozenset(
    "sh bash dash ash zsh ksh ksh93 mksh pdksh rbash yash posh fish csh tcsh elvish nu xonsh pwsh powershell "
    "osh oil".split()
)
"""Programs whose script is shell text: an operand file, the value of `-c`, or standard input."""

WRAPPERS = frozenset(
    "source . sudo doas su runuser pkexec gosu su-exec setpriv capsh env nice ionice chrt taskset "
    "numactl timeout gtimeout nohup setsid stdbuf unbuffer time gtime command builtin exec xargs "
    "gxargs parallel busybox toybox watch script scriptreplay strace ltrace dtruss ktrace truss perf "
    "valgrind rr gdb catchsegv chroot unshare nsenter bwrap firejail proot fakeroot fakechroot "
    "eatmydata flock prlimit setarch linux32 linux64 i386 x86_64 arch tini dumb-init catatonit "
    "cgexec systemd-run systemd-inhibit caffeinate dbus-run-session dbus-launch xvfb-run rlwrap "
    "torify torsocks proxychains proxychains4 tsocks ssh-agent sg newgrp daemonize start-stop-daemon "
    "chpst softlimit envdir s6-setuidgid execlineb ld.so ld-linux-x86-64.so.2 ld-linux.so.2 "
    "ld-musl-x86_64.so.1 entr watchexec nodemon chronic ts ifne sem retry hyperfine multitime pexec "
    "find fd fdfind ssh mosh eval trap npx bunx pnpx uvx pipx poetry pipenv pdm hatch rye uv mise "
    "asdf direnv dotenv bundle rbenv pyenv nvm conda mamba micromamba docker podman nerdctl kubectl "
    "oc nix nix-shell guix tmux screen at batch coproc lldb script.exe wsl cmd cmd.exe faketime aoss "
    "padsp optirun primusrun primus dtach abduco setuidgid sshpass expect socat ncat compgen "
    "complete mapfile readarray nc netcat genv gnice gnohup gstdbuf gchroot gsetsid gionice sudo-rs run0 "
    "please gsudo calife super aws-vault aws-okta chamber envchain envconsul summon sops doppler infisical "
    "teller op vault-env berglas dotenvx env-cmd cross-env cross-env-shell heaptrack uftrace apitrace kcov "
    "nsys ncu nvprof rocprof likwid-pin likwid-perfctr hwloc-bind schedtool cset runcon sandbox-exec "
    "launchctl xcrun instruments winpty nocache trickle cpulimit choom pasuspender pw-jack gamemoderun "
    "mangohud gamescope vglrun xinit startx xterm uxterm urxvt rxvt konsole alacritty kitty foot "
    "gnome-terminal x-terminal-emulator terminator tilix wezterm zellij tmate ttyd gotty websocketd "
    "run-one run-this-one lockrun setlock lckdo with-lock-ex dotlockfile logsave annotate-output mispipe "
    "pee zrun xe xapply rush nq tsp pueue viddy hwatch gwatch reflex watchmedo chokidar onchange "
    "concurrently foreman honcho forego overmind pm2 forever volta fnm nodenv jenv goenv proto devbox "
    "devenv flox pixi pkgx steam-run appimage-run wine wine64 box64 nsjail minijail0 minijail rootlesskit "
    "schroot dchroot arch-chroot systemd-nspawn systemd-cat machinectl distrobox toolbox lxc incus runc "
    "crun ctr crictl buildah multipass limactl lima colima vagrant adb pssh pdsh clush dsh srun mpirun "
    "mpiexec torchrun uname26 datefudge pgrphack fghack envuidgid tcpserver systemd-socket-activate "
    "ip busybox.static".split()
)
"""Programs of which every later word may begin a command that they run."""

HANDS_ON = frozenset(
    "docker-compose podman-compose debconf corepack ansible ansible-console tox nox npm-run-all run-s run-p "
    "cmake ctest lftp".split()
)
"""Programs that may run what stands in their arguments, but do so only where the table says it."""

INPUT_IS_CODE = frozenset(
    "ed red ex sqlite3 duckdb psql mysql mariadb gdb lldb m4 dc ftp lftp sftp tclsh wish expect mail mailx "
    "socat irb ipython mongosh redis-cli gnuplot octave vi vim nvim view rvim rview".split()
)
"""Programs that take commands from standard input whatever file they are given."""

_TOLD = frozenset(
    "-c -e -f -l --batch -batch --command --execute --file --list --help --version -V -version".split()
)
"""Options by which those do something else with it."""

CODE_ARGUMENTS = frozenset(
    "julia ghc ghci runghc erl escript elixir iex scala groovy jshell osascript ocaml racket sbcl clisp "
    "clojure "
    "swift nim crystal bun deno ts-node tsx r rscript telnet emacs jsonnet clickhouse nix-instantiate".split()
)
"""Interpreters of which every argument may be code, and what they are given as well."""

_OPENERS: Mapping[str, tuple[int, str]] = {
    "ssh": (1, "BbcDEeFIiJLlmOopQRSWw"),
    "su": (9, ""),
    "newgrp": (9, ""),
    "unshare": (0, "SGR"),
    "chroot": (1, ""),
    "nsenter": (0, "tSG"),
    "script": (1, "oEImBOTt"),
    "fakeroot": (0, "lsib"),
    "firejail": (0, ""),
    "setarch": (1, ""),
    **dict.fromkeys("linux32 linux64 i386 x86_64 tmux screen nix-shell capsh".split(), (0, "")),
}
"""Programs that open a shell where no command follows so many operands, with their options that have a "
"value."""

SUBCOMMAND_PROGRAMS = frozenset(
    "git npm pnpm yarn bun cargo go docker podman kubectl helm gh pip uv poetry bundle composer "
    "dotnet rustup terraform systemctl brew apt apt-get mvn gradle make just task rake aws gcloud az mix "
    "stack cabal dune opam hg svn jj nx turbo deno conda".split()
)
"""Programs whose first operand says what they do; options may stand before it."""

_READS_PROGRAM = frozenset(
    "python pypy perl ruby node nodejs php lua luajit tclsh rscript julia guile irb ipython osascript "
    "ocaml jshell sbcl ghci deno "
    "clj".split()
)
"""Interpreters that run what they read where no argument says what they run."""

_READS_FILE = frozenset("make gmake crontab sed gsed awk gawk mawk nawk".split())
"""Programs that can be told to take their script from standard input."""

MAX_LEADING = 48
_EVALUATORS = frozenset(
    "let unset read declare typeset local export readonly test [ [[ printf wait mapfile readarray compgen "
    "complete getopts".split()
)
_VERSION = lazy_pattern(r"[-.]?[0-9][0-9.]*$")
_VERSIONED = frozenset(
    "python pypy perl ruby irb php lua luajit node nodejs gcc g++ clang clang++ cpp rustc ghc ghci "
    "pip tclsh wish erl gawk mawk make gmake bash dash ksh zsh fish emacs vim nvim gdb lldb java "
    "javac guile ocaml julia psql pydoc idle ipython pytest easy_install expect octave swift kotlin "
    "scala gradle cargo go".split()
)
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*=")
_INPUT = lazy_pattern(r"(?:-f)?-$|/dev/(?:stdin|fd/)|/proc/[^/]+/(?:task/[^/]+/)?fd/")
_NO_PROGRAM = lazy_pattern(r"-[biqsuBEIOPS]+|--(?:quiet|silent|interactive|no-[a-z-]+)")
_SHELL_TEXT = lazy_pattern(r"[ \t\n;|&<>()$`\\'\"]")
_COMMANDS = frozenset("--command --run --exec -x".split())
_DURATION = lazy_pattern(r"[0-9.]+[smhd]?")


class WrapperGrammar(Struct, frozen=True):
    """How a wrapper's own arguments end: short and long options with a value, then `operands` words."""

    short: str = ""
    long: str = ""
    operands: int = 0
    assigns: bool = False


GRAMMARS: Mapping[str, WrapperGrammar] = {
    "sudo": WrapperGrammar("ughpCcrtTURD", "user group host prompt chdir close-from role type", 0, True),
    "doas": WrapperGrammar("uC"),
    "env": WrapperGrammar("uC", "unset chdir", 0, True),
    "nice": WrapperGrammar("n", "adjustment"),
    "ionice": WrapperGrammar("cn", "class classdata"),
    "timeout": WrapperGrammar("ks", "kill-after signal", 1),
    "gtimeout": WrapperGrammar("ks", "kill-after signal", 1),
    "genv": WrapperGrammar("uC", "unset chdir", 0, True),
    "gnice": WrapperGrammar("n", "adjustment"),
    "gnohup": WrapperGrammar(),
    "gstdbuf": WrapperGrammar("ioe", "input output error"),
    "nohup": WrapperGrammar(),
    "setsid": WrapperGrammar(),
    "stdbuf": WrapperGrammar("ioe", "input output error"),
    "time": WrapperGrammar("fo", "format output"),
    "command": WrapperGrammar(),
    "taskset": WrapperGrammar("", "", 1),
    "chronic": WrapperGrammar(),
    "caffeinate": WrapperGrammar("tw"),
}
"""The wrappers of which an allow rule may name the inner program; all others must be named whole."""


@lru_cache(maxsize=4_096)
def program(word: str) -> str:
    """The name by which tables know a program: without directory, version and `.exe`, in lower case."""
    name = posixpath.basename(word.replace("\\", "/")).lower()
    if name.endswith((".exe", ".cmd", ".bat")):
        name = name[:-4]
    family = _VERSION.sub("", name)
    return family if family in _VERSIONED else name


def inner_start(argv: tuple[str, ...]) -> int | None:
    """The index of the inner program of a wrapper whose grammar is known; `None` when it cannot be told."""
    grammar = GRAMMARS.get(program(argv[0]))
    if grammar is None:
        return None
    operands, index = grammar.operands, 1
    long = frozenset(grammar.long.split())
    while index < len(argv):
        word = argv[index]
        if word == "--":
            index += 1 + operands
            return index if index < len(argv) else None
        if word.startswith("--"):
            index += 1 + (word[2:] in long)
        elif word.startswith("-") and len(word) > 1:
            takes = next((place for place, char in enumerate(word[1:]) if char in grammar.short), None)
            index += 1 + (takes is not None and takes == len(word) - 2)
        elif grammar.assigns and _ASSIGNMENT.match(word):
            return None
        elif operands:
            operands -= 1
            index += 1
        else:
            return index
    return None


def inner_commands(argv: tuple[str, ...], limit: int) -> tuple[tuple[str, ...], ...]:
    """Every tail of a wrapper's arguments that may be the command it runs, at most `limit` of them."""
    commands: list[tuple[str, ...]] = []
    for index in range(1, len(argv)):
        word = argv[index]
        if not word or word.startswith("-") or _ASSIGNMENT.match(word) or _DURATION.fullmatch(word):
            continue
        if len(commands) == limit:
            break
        commands.append(argv[index:])
    return tuple(commands)


def without_leading_options(argv: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The command without its leading options, wherever these may end."""
    if len(argv) < 3 or not argv[1].startswith("-") or program(argv[0]) not in SUBCOMMAND_PROGRAMS:
        return ()
    starts = []
    for start in range(2, len(argv)):
        if argv[start].startswith("-"):
            continue
        starts.append(start)
        if not argv[start - 1].startswith("-") and not argv[start - 2].startswith("-"):
            break  # no option has two values
        if len(starts) == MAX_LEADING:
            break
    return tuple((argv[0], *argv[start:]) for start in starts)


def scripts(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Every argument of a wrapper or shell that may be shell text, an option glued to it cut off."""
    texts: list[str] = []
    for word in argv[1:]:
        if _SHELL_TEXT.search(word) is None:
            continue
        if word.startswith("--"):
            texts.append(word.partition("=")[2] or word)
        elif word.startswith("-"):
            texts.extend(word[size:] for size in (2, 3, 4))
        else:
            texts.append(word)
    if program(argv[0]) == "eval":
        texts.append(" ".join(argv[1:]))
    return tuple(texts)


def evaluated(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments with a substitution in them that a builtin expands although they are quoted."""
    if argv[0] not in _EVALUATORS:
        return ()
    return tuple(word for word in argv[1:] if "$(" in word or "`" in word)


def splits_text(argv: tuple[str, ...]) -> bool:
    """Whether `env` is told to make words of a text, by escapes of its own."""
    if program(argv[0]) not in ("env", "genv"):
        return False
    for word in argv[1:]:
        if word.startswith("--"):
            if len(word) > 2 and "--split-string".startswith(word.partition("=")[0]):
                return True
        elif word.startswith("-"):
            if "S" in word:
                return True
        elif not _ASSIGNMENT.match(word):
            return False
    return False


def may_run_input(argv: tuple[str, ...], *, given: bool = False) -> bool:
    """Whether a program runs what it reads: its input names the program, or is the script.

    With `given` the input stands in the command itself, where an interpreter's can be looked at.
    """
    name = program(argv[0])
    if name in ("at", "batch", "parallel", "sem"):
        return True
    if name in (".", "source"):
        return any(_INPUT.match(word) or "\0" in word for word in argv[1:2])
    if name in SHELLS or name in _READS_FILE:
        return any(_INPUT.match(word) for word in argv[1:])
    if name in _READS_PROGRAM and not given:
        has_program = any(word != "-" and not _NO_PROGRAM.fullmatch(word) for word in argv[1:])
        return not has_program or any(_INPUT.match(word) for word in argv[1:])
    if name in INPUT_IS_CODE:
        return not given and not _is_told(name, argv)
    if name not in ("xargs", "gxargs"):
        return False
    replaces = any(word.startswith(("-I", "-i", "-J", "--rep")) or "{" in word for word in argv[1:])
    named = any(not word.startswith("-") for word in argv[1:])
    runners = SHELLS | WRAPPERS
    return replaces or not named or any(program(word) in runners for word in argv[1:])


def _is_told(name: str, argv: tuple[str, ...]) -> bool:
    """Whether the arguments say what to do, or a terminal would be read and not the input."""
    if name in ("sqlite3", "duckdb") and sum(not word.startswith("-") for word in argv[1:]) > 1:
        return True
    if name in ("vi", "vim", "nvim", "view", "rvim", "rview"):
        return not any(word.startswith(("-e", "-s")) for word in argv[1:])
    return any(word.partition("=")[0] in _TOLD or word[:2] in ("-c", "-e") for word in argv[1:])


def opens_shell(argv: tuple[str, ...]) -> bool:
    """Whether a program runs a shell on its own input because it is given no command."""
    name = program(argv[0])
    if name in ("poetry", "pipenv", "hatch"):
        return argv[1:2] == ("shell",)
    if name in ("sudo", "doas"):
        return any(word in ("-s", "-i", "--shell", "--login") for word in argv[1:3]) and len(argv) <= 4
    if name not in _OPENERS or any(word in _COMMANDS or word[:2] == "-c" for word in argv[1:]):
        return False
    most, takes = _OPENERS[name]
    operands = [
        word
        for before, word in pairwise(argv)
        if not word.startswith("-") and not (len(before) == 2 and before[0] == "-" and before[1] in takes)
    ]
    return len(operands) <= most


def reads_commands(argv: tuple[str, ...]) -> bool:
    """Whether a shell is told to take its commands from standard input."""
    if program(argv[0]) not in SHELLS:
        return False
    operands = [
        word
        for before, word in pairwise(argv)
        if not word.startswith(("-", "+"))
        and before not in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file")
    ]
    options = [word for word in argv[1:] if word.startswith("-") and not word.startswith("--")]
    return not operands or any("s" in word for word in options)
