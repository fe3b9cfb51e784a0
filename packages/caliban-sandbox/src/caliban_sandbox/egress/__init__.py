"""The one way out of a sandbox: a proxy of our own with a list of hosts (ADR 0043)."""

from caliban_sandbox.egress.launcher import BRIDGE_PORT, Launch, launch, proxy_variables
from caliban_sandbox.egress.serve import open_egress
from caliban_sandbox.egress.values import Egress, EgressRefused, ProxyLimits

__all__ = [
    "BRIDGE_PORT",
    "Egress",
    "EgressRefused",
    "Launch",
    "ProxyLimits",
    "launch",
    "open_egress",
    "proxy_variables",
]
