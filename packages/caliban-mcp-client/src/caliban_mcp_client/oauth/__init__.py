"""Logging in to servers by OAuth 2.1; nothing of it is imported before a server asks for it."""

from caliban_mcp_client.oauth.agent import LoginAgent
from caliban_mcp_client.oauth.authorization import LoginParts, OAuthAuthorization
from caliban_mcp_client.oauth.endpoint import Reach
from caliban_mcp_client.oauth.store import MemoryTokens, TokenStore, login_key
from caliban_mcp_client.oauth.values import IdentityProvider, LoginOptions, ServerLogin, Tokens

__all__ = [
    "IdentityProvider",
    "LoginAgent",
    "LoginOptions",
    "LoginParts",
    "MemoryTokens",
    "OAuthAuthorization",
    "Reach",
    "ServerLogin",
    "TokenStore",
    "Tokens",
    "login_key",
]
