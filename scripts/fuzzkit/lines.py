"""Random command lines: mostly sound, often odd where shells are odd."""

from __future__ import annotations

import random

WORDS = ["a", "b.txt", "-n", "'x y'", '"x y"', "x=1", "*.txt", "\\;", "sub", "--", "1", "rec3", "-x"]
FRAGMENTS = [
    *(
        "a",
        "b.txt",
        "*",
        "*.txt",
        "?.txt",
        "'x y'",
        '"x y"',
        "\\ ",
        "\\;",
        "$x",
        "${x}",
        "$y",
        '"$y"',
        '"${x}"',
    ),
    *(
        "$(rec3)",
        "`rec3`",
        '"$(rec2 a)"',
        "$(rec2)",
        "~",
        "~/a",
        "~root",
        "#",
        "\\#",
        "{a,b}",
        "{a..c}",
        "{1..3}",
    ),
    *(
        "{3..1}",
        "{a,}",
        "{,a}",
        "a{b}",
        "{01..3}",
        "@{1}",
        "=",
        "x=1",
        "x=~",
        "x=~/a",
        "'",
        '"',
        "\\",
        "\\\n",
        "\n",
    ),
    *(
        "!",
        "-n",
        "--",
        "-",
        "$'a'",
        "$'\\n'",
        '$"b"',
        "$",
        '"$"',
        '"\\$x"',
        "'$x'",
        '"a\\b"',
        '"\\\n"',
        "[ab]*",
    ),
    *(
        "[!-]*",
        "[a-b].txt",
        "[^a]*",
        "[",
        "]",
        "^",
        "%",
        "+",
        ",",
        "..",
        "\u00e9",
        "\u00a0",
        "\uff1b",
        "\u00b2",
    ),
    *(
        "\t",
        "*'.txt'",
        "'*'",
        "$\\\n{x}",
        "$\\\n(rec3)",
        "<(rec3)",
        ">(rec3)",
        '"`rec3`"',
        "\\'",
        '"\'"',
        "'\"'",
    ),
    *(
        "&",
        "|",
        ";",
        "(",
        ")",
        "{",
        "}",
        "<",
        ">",
        "$?",
        '"$?"',
        "$#",
        "$$",
        "$((1+2))",
        "$[1]",
        "$HOME",
        "$PWD",
    ),
    *(
        '"$HOME"',
        '"$PWD/a"',
        "$HOME/a",
        "'~'",
        '"~"',
        "~'/a'",
        "${x:-rec3}",
        "${y:=rec3}",
        "rec3",
        "2",
        "12",
        "$1",
    ),
    *(
        "$@",
        "$*",
        "$!",
        "$-",
        "$_",
        "{x}",
        "{fd}",
        "''",
        '""',
        "a''b",
        "if",
        "then",
        "do",
        "done",
        "fi",
        "time",
        "in",
    ),
]
OPERATORS = [
    ";",
    " ; ",
    "&&",
    " && ",
    "||",
    "|",
    " | ",
    "\n",
    "&",
    " |& ",
    "\n\n",
    " &&\n",
    "|\n",
    ";;",
    " & ",
    ";\n",
]
REDIRECTS = [
    *(
        " >f",
        " > f",
        " 2>&1",
        " >/dev/null",
        " >>f",
        " <a.txt",
        " <<<x",
        " &>f",
        " >&f",
        " 2>f",
        " >|f",
        " <>f",
    ),
    *(
        " <<'E'\nrec3 x\nE",
        " <<E\nrec3\nE",
        " <<-'E'\n\tx\n\tE",
        " <<-E\n\trec3\n\tE\n",
        ' <<"E"\n$(rec3)\nE\n',
    ),
    *(
        " <<\\E\nrec3\nE\n",
        " <<E\n$(rec3)\nE",
        " <<'A' <<'B'\nx\nA\ny\nB",
        " <<E;rec2\nx\nE\n",
        " <<E|rec2\nx\nE\n",
    ),
    *(
        " 3>&-",
        " >&2",
        " <&-",
        " >&-",
        " <& -",
        " >& -",
        " <&-a",
        " 2>&-rec3",
        " <&-rec3 ",
        " 0<&-rec3",
        " 3>&2-",
    ),
    *(
        " >$x",
        " >f*",
        " >&\u00b2",
        " >&2a",
        " 99999999999>f",
        " 2147483647>f",
        " 2147483648>f",
        " 007>f",
        " {fd}>f",
    ),
    *(
        " 2\\\n>f",
        " >\\\nf",
        " >'f g'",
        ' >"f$x"',
        " 1>&2>f",
        " <&1>f",
        " &>>f",
        " >&'f'",
        ' >&"2"',
        " >{a,b}",
        " <<<$x",
    ),
    *(" >~/f", " 2>/dev/null", " >f 2>&1", " <sub", " >sub/f"),
]
PROGRAMS = [
    *(
        "rec1",
        "rec2",
        "rec1",
        "rec2",
        "r\\ec1",
        "'rec1'",
        "LC_ALL=C rec1",
        "x=1 rec1",
        "x=rec3 rec1",
        "! rec1",
        "$x",
    ),
    *(
        "rec1\\\n",
        "cd sub;",
        "cd;",
        "cd -;",
        "time rec1",
        "time -p rec1",
        "time -- rec1",
        "! time rec1",
        "rec{1,2}",
    ),
    *(
        "x=rec3;rec1",
        "x=a y=b;rec1",
        "if",
        "{rec3,a}",
        "\\rec1",
        '"rec1"',
        "rec?",
        "re\\\nc1",
        "coproc rec1",
        "A[1]=x rec1",
    ),
    *(
        "x+=1 rec1",
        "x='a b' rec2",
        "<&-rec1",
        ">f rec1",
        "2>&1 rec1",
        "time -p -- rec2",
        "! ! rec1",
        "command rec1",
    ),
    *(
        "exec rec1",
        "builtin cd sub;",
        "eval rec1",
        "export x=a;rec1",
        "read x;rec1",
        "rec1'' ",
        "$y rec1",
        "IFS=a rec1",
    ),
]
WRAPPED = [
    *(
        "env rec3",
        "nice rec3 a",
        "env -i rec3",
        "env x=1 rec3",
        "env -Srec3",
        "env -S'rec3\\_a'",
        "env -iS 'rec3 a'",
    ),
    *("xargs rec3", "echo rec3 | xargs env", "echo a | xargs rec3", "nice ./../bin/rec?", "env ../bin/rec?"),
    *(
        "timeout 5 rec3",
        "nohup rec3",
        "sh -c rec3",
        "sh -c 'rec3 a'",
        'bash -c "rec3"',
        "echo rec3 | sh",
        "sh <<<rec3",
    ),
    *(
        "sh <<'E'\nrec3\nE\n",
        "echo rec3 | bash -s",
        "echo rec3 | . /dev/stdin",
        "eval rec3",
        "eval 'rec3 a'",
        "exec rec3",
    ),
    *(
        "command rec3",
        "../bin/rec3",
        "../bin//rec3",
        "find . -exec rec3 {} +",
        "find a.txt -exec rec3 ;",
        "sed 1erec3 a.txt",
    ),
    *(
        "sed '1e rec3' a.txt",
        "split --filter=rec3 a.txt",
        "x=rec3; $x",
        "for i in rec3; do $i; done",
        "${x:-rec3} a",
    ),
    *(
        "time -p ${x:-rec3} a",
        "{fd}>/dev/null ${x:-rec3}",
        "<&-rec3 rec1",
        "time rec3",
        "! rec3",
        "if rec3; then rec1; fi",
    ),
    *(
        "trap rec3 EXIT",
        "x=$(rec3)",
        'rec1 "$(rec3)"',
        "rec1 <(rec3)",
        "r''ec3",
        "re\\\nc3",
        "$'rec3'",
        "rec[3]",
        "printf -v x rec3; $x",
    ),
    *(
        "x=rec3 sh -c '$x'",
        "env sh -c rec3",
        "awk 'BEGIN{system(\"rec3\")}'",
        "tar -cf f --checkpoint=1 --checkpoint-action=exec=rec3 a.txt",
    ),
    *(
        "tar cIf rec3 f a.txt",
        "sort --compress-program=rec3 a.txt",
        "stdbuf -o0 rec3",
        "setsid rec3",
        "printf rec3 | xargs nice",
    ),
    *(
        "find . -name 'a*' -exec rec3 ;",
        "case a in a) rec3;; esac",
        "[[ -n a ]] && rec3",
        "((1)) && rec3",
        "f() { rec3; }; f",
    ),
    *(
        "until rec3; do rec1; done",
        "{ rec3; }",
        "(rec3)",
        "rec3&",
        "rec1|rec3",
        "rec1&&rec3",
        "rec1\nrec3",
        "\\rec3 a",
        "~/../bin/rec3",
    ),
    *(
        "[ -v 'a[$(rec3)]' ]",
        "test -v 'a[$(rec3)]'",
        "let 'a[$(rec3)]=1'",
        "printf '%d' 'a[$(rec3)]'",
        "cd ../bin; ./rec3",
        "source ../bin/rec3",
    ),
]


class Lines:
    """Random lines from a source of chance. With `hidden` some part of a line runs `rec3`."""

    def __init__(self, pick: random.Random, *, hidden: bool = False) -> None:
        self.pick = pick
        self.hidden = hidden

    def word(self) -> str:
        """One argument."""
        if self.pick.random() < 0.45:
            return self.pick.choice(WORDS)
        return "".join(self.pick.choice(FRAGMENTS) for _ in range(self.pick.choice([1, 1, 2, 3])))

    def simple(self) -> str:
        """A command with arguments and redirects."""
        if self.hidden and self.pick.random() < 0.35:
            return self.pick.choice(WRAPPED)
        text = self.pick.choice(PROGRAMS)
        if self.pick.random() < 0.04:
            text = self.pick.choice(REDIRECTS).lstrip() + text
        for _ in range(self.pick.choice([0, 1, 1, 2, 3])):
            text += self.pick.choice([" ", " ", "  ", "\t", " \\\n "]) + self.word()
        if self.pick.random() < 0.3:
            text += self.pick.choice(REDIRECTS)
        if self.pick.random() < 0.06:
            text += self.pick.choice([" # x; rec3", " #'", " #\\\n rec3"])
        return text

    def compound(self, depth: int) -> str:
        """A group, a condition or a loop."""
        inner, other = self.line(depth + 1), self.line(depth + 1)
        end = self.pick.choice(["; ", ";", "\n", " ;\n"])
        values = " ".join(self.word() for _ in range(self.pick.choice([0, 1, 2])))
        name = self.pick.choice(["x", "y", "x", "i", "PATH", "1"])
        text = self.pick.choice(
            [
                f"({inner})",
                f"{{ {inner}{end}}}",
                f"if {inner}{end}then {other}{end}fi",
                f"if rec1{end}then {inner}{end}else {other}{end}fi",
                f"if rec1{end}then {inner}{end}elif rec2{end}then {other}{end}fi",
                f"for {name} in {values}{end}do {inner}{end}done",
                f"for x in a b.txt{end}do {inner}{end}done",
                f"for x in *.txt{end}do rec1 $x{end}{inner}{end}done",
                f"for x in rec3 a{end}do {inner}{end}done",
                f"while rec1{end}do {inner}{end}done",
                f"while false{end}do {inner}{end}done",
                f"x={self.word()}{end}{inner}",
                f"rec1 $({inner})",
                f'rec1 "$({inner})"',
                f"x=$({inner}){end}{other}",
                f"rec1 \"$(cat <<'E'\n{inner}\nE\n)\"",
            ]
        )
        if self.pick.random() < 0.15:
            text += self.pick.choice(REDIRECTS)
        return text

    def line(self, depth: int = 0) -> str:
        """A whole command."""
        text = ""
        for number in range(self.pick.choice([1, 1, 2, 2, 3])):
            text += self.pick.choice(OPERATORS) if number else ""
            text += self.compound(depth) if depth < 2 and self.pick.random() < 0.2 else self.simple()
        return text
