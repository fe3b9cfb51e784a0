"""Public addresses, and hosts that are numbers."""

from __future__ import annotations

import pytest

from caliban_common.addresses import is_plain_name, is_public, reads_as_number


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "0.0.0.0", "10.1.2.3", "172.31.255.255", "192.168.0.1", "169.254.169.254"),
        *("100.64.0.1", "192.0.0.8", "198.18.0.1", "224.0.0.1", "255.255.255.255", "203.0.113.9"),
        *("::1", "::", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1"),
        *("fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "2002:7f00:1::", "2001:db8::1", "2001::1"),
        *("", "example.com", "2130706433", "0177.0.0.1"),
    ],
)
def test_an_address_that_is_not_public_is_known(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    ["93.184.216.34", "8.8.8.8", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"],
)
def test_a_public_address_is_known(address):
    assert is_public(address)


@pytest.mark.parametrize("host", ["1", "127.1", "0x7f.1", "0x7f000001", "0177.0.0.1", "2130706433", "a.0x"])
def test_a_number_is_told_from_a_name(host):
    assert reads_as_number(host)


@pytest.mark.parametrize("host", ["example.com", "1.example", "x7f", "0xg", "a.1b", ""])
def test_a_name_with_digits_is_no_number(host):
    assert not reads_as_number(host)


@pytest.mark.parametrize("host", ["a", "a.example", "xn--bcher-kva.example", "_dmarc.a-b.example", "1.2"])
def test_a_plain_name_is_known(host):
    assert is_plain_name(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        ".",
        "a.",
        ".a",
        "a..b",
        "-a",
        "a-",
        "A",
        "b\u00fccher",
        "a b",
        "a%41",
        "a\x00",
        "a\n",
        "[::1]",
        "a:1",
    ],
)
def test_what_is_no_plain_name_is_known(host):
    assert not is_plain_name(host)
