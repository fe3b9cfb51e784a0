"""Names of hosts as they are compared: one spelling for each, and lists of them by whole labels."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from msgspec import Struct

from caliban_common.addresses import is_plain_name, reads_as_number
from caliban_sandbox.errors import SandboxError

MAX_CHARS: Final = 253
_MAX_LABEL_CHARS: Final = 63


class HostList(Struct, frozen=True, kw_only=True):
    """Names that are meant themselves, and names of which all that is below is meant."""

    exact: frozenset[str] = frozenset()
    below: frozenset[str] = frozenset()

    def matches(self, host: str) -> bool:
        """Whether the list is for `host`, in the spelling of `plain_host`; compared label by label."""
        if host in self.exact:
            return True
        rest = host
        while "." in rest:
            rest = rest.partition(".")[2]
            if rest in self.below:
                return True
        return False


def host_list(entries: Iterable[str]) -> HostList:
    """The list of `name`, `*.name` and canonical addresses. Raises `SandboxError` naming the odd entry."""
    exact: set[str] = set()
    below: set[str] = set()
    for entry in entries:
        name = entry.removeprefix("*.")
        host = plain_host(name)
        if host is None or (name != entry and is_address(host)):
            raise SandboxError(
                f"{entry!r} is no host that can be compared",
                hint="write a name (example.com), what is below one (*.example.com), or an address as it is "
                "usually written, one of version 6 in brackets; without scheme, port or path",
            )
        (exact if name == entry else below).add(host)
    return HostList(exact=frozenset(exact), below=frozenset(below))


def plain_host(text: str) -> str | None:
    """The one spelling of a host: small ASCII letters, without a final dot; `None` for what has none.

    An address must be written as everybody does (`127.0.0.1`, `[::1]`): without a zone, and none of version 6
    that carries one of version 4. A name beyond ASCII must survive IDNA (2003) and back.
    """
    if text.startswith("["):
        return _plain_6(text)
    name = "".join(char.lower() if char.isascii() else char for char in text.removesuffix("."))
    if not name or len(name) > MAX_CHARS:
        return None
    if not name.isascii():
        return _ascii(name)
    if reads_as_number(name):
        return name if _is_4(name) else None
    if not is_plain_name(name) or any(len(label) > _MAX_LABEL_CHARS for label in name.split(".")):
        return None
    return name


def is_address(host: str) -> bool:
    """Whether a host in the spelling of `plain_host` is an address."""
    return host.startswith("[") or reads_as_number(host)


def shown(text: str) -> str:
    """What was asked for, short and harmless enough for a message: printable ASCII."""
    harmless = text.encode("ascii", "backslashreplace").decode()
    harmless = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in harmless)
    return harmless if len(harmless) <= MAX_CHARS else f"{harmless[: MAX_CHARS - 3]}..."


def _ascii(name: str) -> str | None:
    try:
        encoded = name.encode("idna").decode("ascii")
        if encoded.encode().decode("idna") != name:
            return None
    except UnicodeError:
        return None
    return plain_host(encoded)


def _is_4(name: str) -> bool:
    try:
        return str(IPv4Address(name)) == name
    except ValueError:
        return False


def _plain_6(text: str) -> str | None:
    if not text.endswith("]") or "%" in text:
        return None
    try:
        address = IPv6Address(text[1:-1])
    except ValueError:
        return None
    carries = address.ipv4_mapped or address.sixtofour or address.teredo
    if carries is not None or 1 < int(address) < 1 << 32 or address.packed.startswith(b"\x00\x64\xff\x9b"):
        return None
    return f"[{address.compressed}]"
