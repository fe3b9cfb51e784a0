"""What lines of programs that read are put together from: their options, and what others do with them."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import random
import re

FILES = ("a.txt", "b.txt", "list", "@a")
LETTERS = "abcdeEfFghHiIjklLmnNopPqrRsStTuUvwWxXyzZ0123456789"
PROGRAMS = (
    "cat head tail wc sort uniq cut tr diff cmp comm join paste column nl tac shuf rev fold fmt "
    "expand od hexdump hd xxd strings md5sum sha256sum cksum shasum base64 ls dir stat file du df "
    "readlink realpath grep egrep rg find ps whereis lscpu lsblk pgrep pstree iconv numfmt locale "
    "getconf tput date hostname printf echo test [ read which type seq expr bc jq sed awk tar zcat "
    "who w uptime free id ss tree fd git time"
).split()
OPTIONS = (
    "--help --version --output=f --output f --out=f -o f -of -oa.txt --compress-program=rec3 "
    "--compress-program --pre=rec3 --pre rec3 --hostname-bin=rec3 --files0-from=list --files0-from=- "
    "--from-file=list --file=list -f list -f -flist -x rec3 --exec rec3 --recursive -r -R -N "
    "--dereference --random-source=list --magic-file=list -m list --null -0 -z --hidden -uu -g .env "
    "-g * --glob=.e* --iglob .ENV -t all -tsh --include=* --include=.e* -exec cat {} + -exec rec3 {} "
    "; -exec xxd -as {} ; -print -print0 -name *.txt -name * -delete -fprint f -e -ef -aux aux e -eo "
    "pid,cmd -o environ --sort=x --sort=pid -l -L -c -C -s 1 -n 1 -k1 -d, -t, -as -ps -Lo -v PATH -v "
    "a[$(rec3)] %n %5n%s -d x --set=x -i -w 5 --sysroot=.. -B .. -T xterm init -D f -K"
).split(" ")
GIT = (
    "status log diff show blame grep ls-files branch tag stash reflog var config cat-file rev-parse "
    "for-each-ref --format=%G? --pretty=%GS --output=f -l --no-index -p -u list show HEAD :0:.env -O "
    "rec3 --ext-diff --textconv --name-only --submodule=diff -c core.pager=rec3 -C sub -C .. new -d "
    "--all -L1,1:sub/.env"
).split()
OPERANDS = (
    "a.txt b.txt list @list @a sub sub/leak sub/b.txt sub/up sub/.env .. ../home/secret . * sub/* "
    "/etc/hostname - missing x '$(rec3)' 'a[$(rec3)]' \"a$x\" $x PATH 5 1 :a"
).split(" ")
BEFORE = (
    "",
    "",
    "",
    "",
    "",
    "timeout 5 ",
    "nice -n 1 ",
    "time ",
    "\\time -o f ",
    "command ",
    "command -p ",
    "MAGIC=list ",
    "PS_FORMAT=environ ",
    "LC_ALL=C ",
    "x=1 ",
    "cd sub; ",
    "cd sub && ",
    "command cd sub; ",
    "cd sub/up; cd ..; ",
    "printf '%5s%n' '' PATH; ",
    "read -r x <list; ",
    "x=list; ",
    "for x in *.txt; do ",
    "echo a | ",
)
AFTER = (
    "",
    "",
    "",
    "",
    " 2>&1",
    " 2>/dev/null",
    " <list",
    " <<<../home/secret",
    " | xargs cat",
    " | xargs -n1 cat",
    " | sort | xargs cat",
    " | xargs sort",
    " | xargs cat <list",
    " | xargs cat | xargs cat",
    " | head -1",
    " && rec3",
    "; rec3",
    "; ls",
)


OWN = {
    "xxd": "-as -ps -p -c -l -s -i -ic -bs -g -r -E -u 5 a.txt b.txt f",
    "tree": "-L -Lo -Po -aL -I 2 x a.txt f sub",
    "diff": "-r -u -q -N -rN -y a.txt sub . sub/up list --color",
    "strings": "-a -n 5 @list @a * a.txt",
    "time": "-p -v -o -ao --output=f -f %e f cat a.txt ls",
    "iconv": "-f -t -c utf8 latin1 ./list ../home/secret a.txt",
    "rg": "-l -g -t --iglob --files -n .env * all *.txt sh told x sub .",
    "grep": "-r -R -rl -n -f --include=* --include=.env told x . sub a.txt list",
    "find": ". sub -name -print -print0 -type f *.txt * -exec cat grep -l x {} + ;",
    "printf": "%s %n %5n %d %b a$x PATH IFS x -v --",
    "ps": "-e -ef aux -aux -A -o -eo pid,cmd cmd --sort=pid --sort=x -u -T -g root w ww -E e axe",
    "sort": "-o -k1 -u -c -m a.txt b.txt f --files0-from=list --compress-program=rec3",
    "uniq": "-c -d a.txt f -f 1 -",
    "jq": "-n -R -r . env $ENV '$ ENV' input --arg a b -f list a.txt sub/.env",
    "awk": "1 {print} '{print > \"f\"}' 'BEGIN{system(\"rec3\")}' -f list -v x=1 a.txt ENVIRON",
    "sed": "p -n -i -e 1p 's/x/y/w f' '1e rec3' 'r ../home/secret' 'w f' a.txt",
    "zcat": "list a.txt sub/leak sub/b",
    "read": "-r -a x path PATH http_proxy 'a[$(rec3)]' -p",
    "ls": "-l -a -R -L -LR -la sub . .. sub/up",
    "cat": "a.txt * sub/* sub/leak sub/b.txt -n -- list",
    "head": "-1 -n -c 5 a.txt sub/* sub/leak",
    "file": "-m list -f -z -C -b a.txt sub/*",
    "git": " ".join(GIT),
}
"""What is likely to be said to a program, blanks within quotes left out of it."""


def reading_line(pick: random.Random) -> str:
    """A line that begins with a program that reads, and may go on to anything."""
    before = pick.choice(BEFORE) if pick.random() < 0.4 else ""
    program = pick.choice(tuple(OWN)) if pick.random() < 0.7 else pick.choice(PROGRAMS)
    own = tuple(quoted_words(OWN.get(program, "")))
    words = [program]
    for _ in range(pick.choice((0, 1, 1, 2, 2, 3, 4))):
        chance = pick.random()
        if own and chance < 0.75:
            words.append(pick.choice(own))
        elif chance < 0.85:
            words.append("-" + "".join(pick.choice(LETTERS) for _ in range(pick.choice((1, 1, 2, 2, 3)))))
        else:
            words.append(pick.choice(OPTIONS if chance < 0.9 else OPERANDS))
    if program == "tail":
        words = [word for word in words if word[:1] != "-" or "f" not in word.lower()]  # it would not end
    after = pick.choice(AFTER) if pick.random() < 0.4 else ""
    return before + " ".join(words) + after + ("; done" if before.startswith("for") else "")


def quoted_words(text: str) -> list[str]:
    """The words of a text, quotes kept: a quoted word may have blanks in it."""
    return re.findall(r"'[^']*'|[^ ]+", text)
