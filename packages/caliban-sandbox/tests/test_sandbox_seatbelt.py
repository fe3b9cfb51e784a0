"""A policy becomes a profile that a parser takes, with no path in its text. No profile was ever run."""

from __future__ import annotations

import posixpath
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_sandbox import FilePolicy, NetworkPolicy, SandboxError, SandboxPolicy
from caliban_sandbox.seatbelt import SeatbeltProfile, profile_faults, seatbelt_profile
from caliban_sandbox.seatbelt.reader import read_forms

BEGINNING = "(version 1)\n(deny default)\n"
POLICY = SandboxPolicy(
    files=FilePolicy(
        hidden=("/home/me/.ssh",),
        writable=("/work", "/home/me/.ssh/known"),
        protected=("/work/.git", "/work/deep/down/.envrc"),
    )
)


def rules(profile: SeatbeltProfile) -> list[str]:
    """The rules with their parameters put in, as Seatbelt would."""
    values = dict(profile.parameters)
    return [
        re.sub(r'\(param "(P\d+)"\)', lambda match: values[match[1]], line)
        for line in profile.text.splitlines()
    ]


def decided(profile: SeatbeltProfile, operation: str, path: str) -> str:
    """What the last rule for `operation` that fits says, for the plain filters of paths."""
    verdict = "deny"
    for line in rules(profile):
        head = re.fullmatch(r"\((allow|deny) ([a-z*\- ]+?)(?: \((literal|subpath) ([^()]*)\))?\)", line)
        if head is None:
            continue
        action, operations, kind, places = head.groups()
        names = operations.split()
        if not any(
            name == operation or (name.endswith("*") and operation.startswith(name[:-1])) for name in names
        ):
            continue
        paths = [place.strip('"') for place in (places or "").split()]
        fits = kind is None or any(
            path == place or (kind == "subpath" and path.startswith(place.rstrip("/") + "/"))
            for place in paths
        )
        verdict = action if fits else verdict
    return verdict


@pytest.mark.parametrize(
    ("operation", "path", "verdict"),
    [
        ("file-read-data", "/etc/hosts", "allow"),
        ("file-write-data", "/etc/hosts", "deny"),
        ("file-write-create", "/work/new", "allow"),
        ("file-write-create", "/workshop", "deny"),
        ("file-read-data", "/home/me/.ssh/id", "deny"),
        ("file-read-metadata", "/home/me/.ssh", "deny"),
        ("file-write-data", "/home/me/.ssh/id", "deny"),
        ("file-write-data", "/home/me/.ssh/known/x", "allow"),
        ("file-write-create", "/work/.git/hooks/pre-commit", "deny"),
        ("file-write-data", "/work/.git/config", "deny"),
        ("file-write-create", "/work/.git/config.worktree", "deny"),
        ("file-write-create", "/work/.git/info/attributes", "deny"),
        ("file-write-data", "/work/.git/index", "allow"),
        ("file-write-create", "/work/.git/objects/ab/cd", "allow"),
        ("file-write-create", "/work/deep/down/.envrc", "deny"),
        pytest.param("file-write-unlink", "/work/deep/down/.envrc", "deny", id="s710-itself"),
        pytest.param("file-write-unlink", "/work/deep", "deny", id="s710-above"),
        pytest.param("file-write-unlink", "/work/.git", "deny", id="s710-repository"),
        pytest.param("file-write-unlink", "/work/.git/info", "deny", id="s710-inside"),
        ("file-write-unlink", "/home/me", "deny"),
        ("file-write-unlink", "/work/other", "allow"),
        ("file-write-unlink", "/work/.git/index", "allow"),
        ("file-write-data", "/dev/null", "allow"),
        ("file-write-setugid", "/work/x", "deny"),
    ],
)
def test_the_last_rule_that_fits_decides_as_the_policy_says(operation, path, verdict):
    assert decided(seatbelt_profile(POLICY), operation, path) == verdict


def test_a_list_of_what_is_read_closes_the_rest_of_the_disk():
    profile = seatbelt_profile(SandboxPolicy(files=FilePolicy(readable=("/work",), hidden=("/work/.env",))))
    places = ("/work/x", "/usr/lib/dyld", "/work/.env", "/home/me/x")
    assert [decided(profile, "file-read-data", path) for path in places] == ["allow", "allow", "deny", "deny"]
    assert decided(profile, "file-write-data", "/work/x") == "deny"


def test_without_a_proxy_nothing_of_the_network_is_opened():
    lines = rules(seatbelt_profile(POLICY))
    assert [line for line in lines if "network" in line or "socket" in line] == []


@pytest.mark.parametrize(("own", "egress"), [(None, 5000), (5000, None), (5000, 6000)])
def test_the_port_of_one_proxy_is_opened(own, egress):
    policy = SandboxPolicy(network=NetworkPolicy(proxy_port=own))
    lines = rules(seatbelt_profile(policy, egress_port=egress))
    assert [line for line in lines if "network" in line] == [
        '(allow network-outbound (remote tcp "localhost:5000"))'
    ]


def test_binding_and_unix_sockets_are_opened_where_the_policy_says():
    policy = SandboxPolicy(network=NetworkPolicy(local_binding=True, unix_sockets=True))
    lines = rules(seatbelt_profile(policy))
    assert [line for line in lines if "network" in line or "socket" in line] == [
        '(allow network-bind network-inbound (local ip "localhost:*"))',
        "(allow system-socket (socket-domain AF_UNIX))",
        "(allow network-outbound (remote unix-socket))",
        "(allow network-bind network-inbound (local unix-socket))",
    ]


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_port_that_is_none_is_refused(port):
    with pytest.raises(SandboxError, match="is no port"):
        seatbelt_profile(SandboxPolicy(), egress_port=port)


def test_services_are_parameters_and_those_that_act_outside_are_denied_after_all():
    policy = SandboxPolicy(network=NetworkPolicy(mach_services=('odd") (allow default',)))
    profile = seatbelt_profile(policy)
    lines = rules(profile)
    assert "allow default" not in profile.text
    assert '(allow mach-lookup (global-name odd") (allow default))' in lines
    last_allowed = max(index for index, line in enumerate(lines) if line.startswith("(allow mach"))
    for name in ("appleevents", "launchservicesd", "pasteboard.1", "launchd.domain.user", "SecurityServer"):
        (index,) = (index for index, line in enumerate(lines) if name in line)
        assert lines[index].startswith("(deny mach-lookup ")
        assert index > last_allowed
    for operation in ("appleevent-send", "lsopen", "job-creation"):
        assert f"(deny {operation})" in lines


@pytest.mark.parametrize(
    "name", ["", "com.apple.pasteboard.1", "COM.APPLE.coreservices.appleevents", "com.apple.lsd.open"]
)
def test_a_service_that_acts_outside_is_refused_by_its_name(name):
    with pytest.raises(SandboxError, match=re.escape(repr(name))):
        seatbelt_profile(SandboxPolicy(network=NetworkPolicy(mach_services=(name,))))


@pytest.mark.parametrize(
    "path", ["", "work", "./work", "/work/", "/work/../x", "/work//x", "//work", "~", "/a\0b", "/\ud800"]
)
@pytest.mark.parametrize("field", ["readable", "hidden", "writable", "protected"])
def test_a_path_that_is_none_is_refused(field, path):
    with pytest.raises(SandboxError) as caught:
        seatbelt_profile(SandboxPolicy(files=FilePolicy(**{field: ("/ok", path)})))
    assert repr(path) in caught.value.message


def test_the_program_is_started_with_every_parameter():
    profile = SeatbeltProfile(text="(version 1)", parameters=(("P0", "/a=b"), ("P1", "/c")))
    assert profile.prefix() == (
        *("/usr/bin/sandbox-exec", "-p", "(version 1)", "-D", "P0=/a=b", "-D", "P1=/c", "--"),
    )
    assert profile.prefix("/opt/sandbox-exec")[0] == "/opt/sandbox-exec"


PATHS = (
    st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=12)
    .map(lambda text: posixpath.normpath("/zz/" + text))
    .filter(lambda path: path.startswith("/zz/"))
    | st.sampled_from(
        ['/zz/")(allow default)("', "/zz/\\", '/zz/"', "/zz/a\nb", "/zz/;x", '/zz/(param "P0")']
    )
    | st.sampled_from(["/zz/x/.git", "/zz/x", "/zz"])
)
SETS = st.lists(PATHS, max_size=5).map(tuple)


@given(
    files=st.builds(FilePolicy, readable=st.none() | SETS, hidden=SETS, writable=SETS, protected=SETS),
    network=st.builds(
        NetworkPolicy,
        proxy_port=st.none() | st.integers(1, 65535),
        unix_sockets=st.booleans(),
        local_binding=st.booleans(),
        mach_services=st.lists(
            st.text(
                st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=9
            ),
            max_size=3,
        ).map(tuple),
    ),
)
def test_any_policy_gives_a_profile_that_is_read_with_no_path_inside_of_it(files, network):
    profile = seatbelt_profile(SandboxPolicy(files=files, network=network))
    names = [name for name, _ in profile.parameters]
    assert profile_faults(profile.text, names) == ()
    assert len(set(names)) == len(names)
    assert "/zz" not in profile.text
    values = {value for _, value in profile.parameters}
    assert {*(files.readable or ()), *files.hidden, *files.writable, *network.mach_services} <= values
    assert re.fullmatch(r"[ -~\n]+", profile.text)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("(allow file-read*", "a bracket is not closed"),
        ("(allow file-read*))", "a bracket is closed that was not opened"),
        ("allow", "a word stands outside of brackets"),
        ("()", "a rule is (allow ...) or (deny ...)"),
        ("((allow file-read*))", "a rule is (allow ...) or (deny ...)"),
        ("(permit file-read*)", "a rule is (allow ...) or (deny ...)"),
        ("(version 1)", "a rule is (allow ...) or (deny ...)"),
        ("(allow)", "a rule names operations, and then filters"),
        ('(allow (literal "/a") file-read*)', "a rule names operations, and then filters"),
        ('(allow file-read* "/a")', "a rule names operations, and then filters"),
        ("(allow file-raed*)", "there is no operation file-raed*"),
        ('(allow file-read* (subpaht "/a"))', "there is no filter subpaht"),
        ("(allow file-read* ())", "there is no filter "),
        ('(allow file-read* (literal "a"))', "the filter literal does not take that"),
        ("(allow file-read* (literal))", "the filter literal does not take that"),
        ("(allow file-read* (literal /a))", "the filter literal does not take that"),
        ('(allow file-read* (literal (param "")))', "the filter literal does not take that"),
        ('(allow file-read* (literal (home "x")))', "the filter literal does not take that"),
        ('(allow file-read* (literal #"/a"))', "the filter literal does not take that"),
        ('(allow file-read* (regex "/a"))', "the filter regex does not take that"),
        ('(allow file-read* (regex #""))', "the filter regex does not take that"),
        ("(allow file-read* (vnode-type FILE))", "the filter vnode-type does not take that"),
        ('(allow network-outbound (literal "/a"))', "the filter literal is not for that operation"),
        (
            '(allow file-read* network-outbound (literal "/a"))',
            "the filter literal is not for that operation",
        ),
        ('(allow file-read* (remote tcp "localhost:80"))', "the filter remote is not for that operation"),
        *(
            (f'(allow network-outbound (remote tcp "{place}"))', "the filter remote does not take that")
            for place in (
                "example.com:80",
                "localhost",
                "localhost:0",
                "localhost:65536",
                "localhost:x",
                "",
                "::1:80",
            )
        ),
        ('(allow network-outbound (remote sctp "localhost:80"))', "the filter remote does not take that"),
        ("(allow network-outbound (remote tcp))", "the filter remote does not take that"),
        ('(allow mach-lookup (global-name ""))', "the filter global-name does not take that"),
        (
            '(allow file-read* (require-not (literal "/a") (literal "/b")))',
            "require-not has the wrong number",
        ),
        ("(allow file-read* (require-all))", "require-all has the wrong number"),
        ('(allow file-read* (require-any "/a"))', "require-any takes filters only"),
        ("(allow file-read* (require-any (target self)))", "the filter target is not for that operation"),
        ("(allow file-read* (with loudly))", "there is no such modifier"),
        ("(allow file-read* (with))", "there is no such modifier"),
        ('(allow file-read* (literal (param "Q")))', "the parameter Q is not given"),
        ("(allow file-read* [])", "no word begins with '['"),
        ('(allow file-read* (literal "/a', "no word begins with"),
        ('(allow file-read* (literal "/\\n"))', "no word begins with"),
        ("(allow file-read*\0)", "no word begins with '\\x00'"),
        ("(" * 30, "brackets are nested deeper than 20"),
    ],
)
def test_what_is_no_rule_is_named_with_its_line(rule, words):
    faults = profile_faults(BEGINNING + rule, ())
    assert any(fault.startswith("line ") and words in fault for fault in faults), faults


@pytest.mark.parametrize(
    "rule",
    [
        "; a remark (allow\n",
        '(allow file-read* file-write* (literal "/a" "/b") (subpath "/c"))',
        '(deny file-read* (with no-log) (require-all (subpath "/a") (require-not (regex #"\\.x$"))))',
        '(deny file-write* (with message "no"))',
        "(allow signal (target same-sandbox))",
        "(allow network-outbound (remote unix-socket))",
        '(allow network-outbound (remote ip "*:*"))',
        "(deny default)",
    ],
)
def test_what_is_a_rule_is_taken(rule):
    assert profile_faults(BEGINNING + rule, ()) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(version 1)",
        "(deny default)(version 1)",
        "(version 2)(deny default)",
        "(version 1)(allow default)",
    ],
)
def test_a_profile_begins_by_denying_everything(text):
    assert profile_faults(text, ()) == ("line 1: it does not begin with (version 1) and (deny default)",)


def test_a_parameter_that_nothing_uses_is_a_fault():
    assert profile_faults(BEGINNING, ("P0",)) == ("line 1: the parameter P0 is not used",)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    assert isinstance(profile_faults(text, ()), tuple)


@given(
    st.lists(
        st.sampled_from(
            [
                "(",
                ")",
                '"',
                "#",
                " ",
                "\n",
                ";",
                "\\",
                "allow",
                "deny",
                "file-read*",
                "literal",
                '"/a"',
                "param",
                "with",
            ]
        ),
        max_size=30,
    ).map("".join)
)
def test_any_pieces_behind_the_beginning_are_read_or_refused(text):
    faults = profile_faults(BEGINNING + text, ())
    assert all(re.match(r"line \d+: \S", fault) for fault in faults)


def test_a_text_beyond_the_bound_is_not_looked_at():
    (fault,) = profile_faults("x" * ((4 << 20) + 1), ())
    assert "more than" in fault


def test_forms_know_their_lines():
    forms = read_forms('(a\n)\n; (\n(b "x\ny")\n(c)')
    assert isinstance(forms, tuple)
    assert [form.line for form in forms] == [1, 4, 6]
