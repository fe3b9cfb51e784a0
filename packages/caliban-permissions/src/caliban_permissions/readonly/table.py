"""The programs that only read, with the options of which that is known.

An option that writes, runs a program or reads names of files from a file is left out, and so is one that GNU
and BSD tools read differently.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Mapping

from caliban_permissions.readonly.options import OptionGrammar

FREE = frozenset(
    "echo true false : basename dirname seq sleep nproc whoami id uname groups tty uptime free "
    "cal which expr type yes break continue exit return".split()
)
"""Programs that do nothing but print, whatever they are given."""

_SUMS = OptionGrammar("bt", "", "binary text tag zero")
_GREP = OptionGrammar(
    "EFGPivwxyclLqshHnbouZzaTIrRU",
    "emABCf",
    "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case invert-match "
    "word-regexp line-regexp count files-without-match files-with-matches only-matching quiet silent "
    "no-messages byte-offset with-filename no-filename line-number initial-tab null null-data text "
    "recursive dereference-recursive color colour line-buffered binary help version",
    "regexp max-count after-context before-context context include exclude exclude-dir binary-files file",
    operands="script",
    files="f file",
    scripts="e regexp f file",
    recursive="r R recursive dereference-recursive",
    numbers=True,
)

GRAMMARS: Mapping[str, OptionGrammar] = {
    "cat": OptionGrammar(
        "AbeEnstTuv",
        "",
        "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting help version",
    ),
    "head": OptionGrammar("qvz", "nc", "quiet silent verbose zero-terminated", "lines bytes", numbers=True),
    "tail": OptionGrammar(
        "fFqvzr",
        "ncs",
        "quiet silent verbose zero-terminated follow retry",
        "lines bytes sleep-interval",
        numbers=True,
    ),
    "wc": OptionGrammar("clmLw", "", "bytes chars lines words max-line-length", "total"),
    "sort": OptionGrammar(
        "bdfgiMhnRrVcCmsuz",
        "kt",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting "
        "month-sort human-numeric-sort numeric-sort random-sort reverse version-sort check merge stable "
        "unique zero-terminated",
        "key field-separator sort",
    ),
    "uniq": OptionGrammar(
        "cdDiuz",
        "fsw",
        "count repeated all-repeated ignore-case unique zero-terminated group",
        "skip-fields skip-chars check-chars",
        most=1,
        options_first=True,
    ),
    "cut": OptionGrammar(
        "nsz",
        "bcdf",
        "complement only-delimited zero-terminated",
        "bytes characters delimiter fields output-delimiter",
    ),
    "tr": OptionGrammar("cCdst", "", "complement delete squeeze-repeats truncate-set1", operands="text"),
    "diff": OptionGrammar(
        "urqywbBiaNpcdtTEZs",
        "UCxWIL",
        "unified recursive brief side-by-side ignore-all-space ignore-space-change ignore-blank-lines "
        "ignore-case text new-file show-c-function context minimal expand-tabs initial-tab "
        "report-identical-files suppress-common-lines strip-trailing-cr color normal no-dereference",
        "exclude width ignore-matching-lines label",
        recursive="r recursive",
        most=2,
    ),
    "comm": OptionGrammar("123iz", "", "total nocheck-order check-order zero-terminated", "output-delimiter"),
    "cmp": OptionGrammar("lsb", "n", "verbose quiet silent print-bytes", "bytes", most=2),
    "join": OptionGrammar("iz", "12aejtv", "ignore-case header zero-terminated nocheck-order"),
    "paste": OptionGrammar("sz", "d", "serial zero-terminated", "delimiters"),
    "column": OptionGrammar("txne", "sc", "table", "separator columns"),
    "nl": OptionGrammar("p", "bdfhilnsvw", "no-renumber", "body-numbering number-width number-separator"),
    "tac": OptionGrammar("br", "s", "before regex", "separator"),
    "shuf": OptionGrammar("rz", "n", "repeat zero-terminated", "head-count"),
    "zcat": OptionGrammar(),
    "rev": OptionGrammar(),
    "fold": OptionGrammar("bs", "w", "bytes spaces", "width"),
    "fmt": OptionGrammar("cstu", "w", "crown-margin split-only tagged-paragraph uniform-spacing", "width"),
    "expand": OptionGrammar("i", "t", "initial", "tabs"),
    "unexpand": OptionGrammar("a", "t", "all first-only", "tabs"),
    "od": OptionGrammar("bcdfoxv", "AjNt", "output-duplicates", "address-radix skip-bytes read-bytes format"),
    "hexdump": OptionGrammar("bcCdovx", "ns", "canonical no-squeezing", "length skip"),
    "hd": OptionGrammar("v", "ns"),
    # It looks at the first letter alone: after `-as` its operands are two, and the second one is written.
    "xxd": OptionGrammar(
        "abeEipu", "cgls", "ps plain postscript", most=1, style="single", options_first=True
    ),
    "strings": OptionGrammar("a", "nt", "all print-file-name", "bytes radix"),
    **dict.fromkeys("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum".split(), _SUMS),
    "shasum": OptionGrammar("bt", "a", "binary text", "algorithm"),
    "md5": OptionGrammar("qr"),
    "whereis": OptionGrammar("bmsu", operands="text"),
    "lscpu": OptionGrammar(
        "abBcCeJpxy",
        "",
        "all online offline json parse extended hex physical output-all bytes caches",
        operands="none",
    ),
    "locale": OptionGrammar("amckv", "", "all-locales charmaps category-name keyword-name", operands="text"),
    "getconf": OptionGrammar("a", operands="text"),
    "tput": OptionGrammar("", "T", operands="text"),
    "who": OptionGrammar("abdHlmpqrstTuw"),
    "w": OptionGrammar("hsuifo", operands="text"),
    "lsblk": OptionGrammar(
        "abdfilmnpPrSt", "o", "all bytes fs json list nodeps paths", "output", operands="text"
    ),
    "vmstat": OptionGrammar("adfmnstwD", "S", operands="text"),
    "pgrep": OptionGrammar("aflLnouxcvi", "dPugtUGs", operands="text"),
    "pstree": OptionGrammar("aclnpsuAUTth", operands="text"),
    # On macOS it runs what it is given.
    "arch": OptionGrammar(operands="none"),
    "bc": OptionGrammar("lqsi", "", "mathlib quiet standard"),
    "iconv": OptionGrammar("c", "ft", "", "from-code to-code"),
    "zipinfo": OptionGrammar("1smlvhtzTC", most=1),
    "ss": OptionGrammar(
        "tulnpaxwiemosH046",
        "",
        "tcp udp unix listening numeric processes all summary no-header",
        operands="text",
    ),
    "numfmt": OptionGrammar(
        "z", "d", "grouping", "from to format padding round suffix field", operands="text"
    ),
    "base64": OptionGrammar("d", "w", "decode", "wrap", most=1),
    "base32": OptionGrammar("d", "w", "decode", "wrap", most=1),
    "ls": OptionGrammar(
        "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1@",
        "",
        "all almost-all author escape ignore-backups directory dired classify file-type full-time "
        "group-directories-first no-group human-readable si inode kibibytes dereference literal "
        "numeric-uid-gid hide-control-chars quote-name reverse recursive size context color help version",
        "block-size format hide ignore indicator-style quoting-style sort time time-style tabsize width",
        operands="names",
    ),
    "dir": OptionGrammar("aAlrtS1h", "", "all almost-all color", operands="names"),
    "stat": OptionGrammar("Ltx", "c", "dereference terse", "format printf", operands="names"),
    "file": OptionGrammar(
        "bhiIkNrsS",
        "F",
        "brief mime mime-type mime-encoding keep-going no-pad raw no-dereference extension",
        "separator",
        operands="names",
    ),
    "du": OptionGrammar(
        "abcDhHkmsSx0",
        "dBt",
        "all apparent-size bytes total human-readable si summarize separate-dirs one-file-system null time",
        "max-depth block-size threshold exclude",
        operands="names",
    ),
    "df": OptionGrammar(
        "ahHikPTl",
        "Btx",
        "all human-readable si inodes portability print-type local total",
        "block-size type exclude-type output",
        operands="names",
    ),
    "tree": OptionGrammar(
        "adfiFnCAsDhugpNqQrtcUvxXJS",
        "LIP",
        "noreport dirsfirst filesfirst gitignore prune du si inodes device matchdirs ignore-case "
        "charset version help",
        "filelimit sort",
        operands="names",
        # Each letter takes a word of its own: of `-Lo 2 x` the x is for the `o`, and written.
        style="apart",
    ),
    "readlink": OptionGrammar(
        "efmnqsvz",
        "",
        "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero",
        operands="names",
    ),
    "realpath": OptionGrammar(
        "eLmPqsz",
        "",
        "canonicalize-existing canonicalize-missing logical physical quiet strip no-symlinks zero",
        "relative-to relative-base",
        operands="names",
        files="relative-to relative-base",
    ),
    "pwd": OptionGrammar("LP", operands="none"),
    "hostname": OptionGrammar("fsid", "", "fqdn short ip-address domain", operands="none"),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": OptionGrammar(
        "iSsvwxcloqnNHIFPUupa0.",
        "etTgABCmMjrdEf",
        "files files-with-matches files-without-match count count-matches ignore-case smart-case "
        "case-sensitive word-regexp line-regexp line-number no-line-number heading no-heading filename "
        "no-filename with-filename hidden no-hidden no-ignore no-ignore-vcs no-ignore-parent unrestricted "
        "multiline multiline-dotall fixed-strings pcre2 only-matching invert-match json stats trim "
        "type-list vimgrep column byte-offset null pretty passthru no-messages quiet text include-zero "
        "no-config crlf version help",
        "type type-not glob iglob after-context before-context context max-count max-depth maxdepth "
        "max-columns max-filesize color colors replace regexp sort sortr threads engine encoding file",
        operands="script",
        files="f file",
        scripts="e regexp f file files type-list",
    ),
    "fd": OptionGrammar(
        "HIusigap0F1q",
        "teEdcSo",
        "hidden no-ignore no-ignore-vcs unrestricted case-sensitive ignore-case glob absolute-path "
        "full-path print0 fixed-strings quiet prune one-file-system version help",
        "type extension exclude max-depth min-depth exact-depth color size changed-within changed-before "
        "owner max-results",
        operands="script",
    ),
}
"""The rows. Programs with a language of their own (find, git, sed, awk, jq, test, xargs) are read by code."""

_BOTH = frozenset({"--version", "-v"})
VERSIONS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys("python python3".split(), frozenset({"--version", "-V"})),
    **dict.fromkeys("node ruby perl php git make".split(), _BOTH),
    **dict.fromkeys(
        "gcc g++ clang cmake curl jq rg bash docker sed gawk grep uv".split(), frozenset({"--version"})
    ),
    "java": frozenset({"-version", "--version"}),
}
"""Programs that print their version before they look at anything, with the options by which they do."""
