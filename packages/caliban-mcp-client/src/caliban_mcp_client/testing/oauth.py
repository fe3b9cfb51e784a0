"""A protected MCP server and its authorisation server for tests, as one value that answers requests.

    world = OAuthWorld("http://127.0.0.1:1234", OAuthRules(challenge_scopes=("read",)))
    status, headers, body = world.answer("POST", "/mcp", {...}, b"...")
    location = world.browse(url)  # what a person's browser is sent to, once they have agreed

It opens no socket: whoever serves it hands every request in. It keeps to the rules of the real ones
(single-use codes, PKCE, rotation with detection of reuse), and breaks those that `OAuthRules` says.
"""

from __future__ import annotations

import json
import threading
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from msgspec import Struct, field

Reply: TypeAlias = tuple[int, dict[str, str], bytes]
MCP_PATH = "/mcp"
ISSUER_PATH = "/tenant"
PROTECTED = "/.well-known/oauth-protected-resource"
AUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"


class OAuthRules(Struct, frozen=True, kw_only=True):
    """How the two servers are. `raw` answers a path in its own way; `metadata` and `token` change members."""

    resource_at: Literal["header", "path", "root", "nowhere"] = "header"
    resource: str | None = None
    issuers: tuple[str, ...] | None = None
    server_at: Literal["oauth", "openid", "appended", "nowhere"] = "oauth"
    pkce: tuple[str, ...] | None = ("S256",)
    registers: bool = True
    takes_documents: bool = False
    clients: Mapping[str, str] = field(default_factory=dict)
    token_auth_methods: tuple[str, ...] | None = ("none", "client_secret_basic", "client_secret_post")
    challenge_scopes: tuple[str, ...] = ()
    resource_scopes: tuple[str, ...] | None = None
    server_scopes: tuple[str, ...] = ()
    call_scopes: tuple[str, ...] = ()
    announces_iss: bool = False
    iss: str | None = None
    state: str | None = None
    denies: str = ""
    expires_in: Any = 3600
    rotates: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict)
    token: Mapping[str, Any] = field(default_factory=dict)
    raw: Mapping[str, Reply] = field(default_factory=dict)


class OAuthWorld:
    """Both servers below one origin `base`: the MCP server at `/mcp`, the issuer at `/tenant`."""

    def __init__(self, base: str, rules: OAuthRules | None = None) -> None:
        self.base = base
        self.rules = rules or OAuthRules()
        self.log: list[tuple[str, str]] = []
        self.forms: list[dict[str, str]] = []
        self.registrations: list[dict[str, Any]] = []
        self.asked_scopes: list[str] = []
        self.double_spends = 0
        self.refreshes = 0
        self._lock = threading.Lock()
        self._count = 0
        self._codes: dict[str, dict[str, str]] = {}
        self._used: set[str] = set()
        self._secrets: dict[str, tuple[str, str]] = {}
        self._access: dict[str, str] = {}
        self._refresh: dict[str, str] = {}

    @property
    def issuer(self) -> str:
        """The authorisation server."""
        return f"{self.base}{ISSUER_PATH}"

    @property
    def url(self) -> str:
        """The MCP server."""
        return f"{self.base}{MCP_PATH}"

    def revoke(self, *, refresh: bool = False) -> None:
        """From now on no access token of before counts, nor a refresh token where `refresh` says so."""
        with self._lock:
            self._access.clear()
            if refresh:
                self._refresh.clear()

    def grant(self, scope: str = "") -> dict[str, Any]:
        """Tokens out of nothing, as the token endpoint would give them."""
        with self._lock:
            return self._tokens(scope)

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """The answer to one request; header names in lower case."""
        path = target.partition("?")[0]
        with self._lock:
            self.log.append((method, path))
            if path in self.rules.raw:
                return self.rules.raw[path]
            if path == MCP_PATH:
                return self._mcp(method, headers, body)
            if path == f"{ISSUER_PATH}/token" or (path == "/token" and self.rules.server_at == "nowhere"):
                return self._token(headers, body)
            if path == f"{ISSUER_PATH}/register" or (path == "/register" and self.rules.registers):
                return self._register(body)
            return self._described(path)

    def browse(self, url: str) -> str:
        """Where a browser that opens `url` is sent: a person agrees at once."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        with self._lock:
            rules = self.rules
            assert asked["response_type"] == "code", asked
            assert asked["code_challenge_method"] == "S256", asked
            self.asked_scopes.append(asked.get("scope", ""))
            back = {"state": asked["state"] if rules.state is None else rules.state}
            if rules.announces_iss and rules.iss is None:
                back["iss"] = self.issuer
            elif rules.iss:
                back["iss"] = rules.iss
            if rules.denies:
                back["error"] = rules.denies
            else:
                back["code"] = self._next("code")
                self._codes[back["code"]] = asked
            return f"{asked['redirect_uri']}?{urlencode(back)}"

    def _next(self, kind: str) -> str:
        self._count += 1
        digest = sha256(f"{self.base} {kind} {self._count}".encode()).hexdigest()[:24]
        return f"{kind}-{self._count}-{digest}"

    def _described(self, path: str) -> Reply:
        rules = self.rules
        where = {"header": "/described", "path": f"{PROTECTED}{MCP_PATH}", "root": PROTECTED, "nowhere": ""}
        if path == where[rules.resource_at]:
            metadata: dict[str, Any] = {
                "resource": self.url if rules.resource is None else rules.resource,
                "authorization_servers": [self.issuer] if rules.issuers is None else list(rules.issuers),
            }
            if rules.resource_scopes is not None:
                metadata["scopes_supported"] = list(rules.resource_scopes)
            return json_reply(200, metadata)
        places = {
            "oauth": f"{AUTH}{ISSUER_PATH}",
            "openid": f"{OPENID}{ISSUER_PATH}",
            "appended": f"{ISSUER_PATH}{OPENID}",
            "nowhere": "",
        }
        if path == places[rules.server_at]:
            return json_reply(200, self._metadata())
        return 404, {"content-type": "text/plain"}, b"there is nothing here"

    def _metadata(self) -> dict[str, Any]:
        rules = self.rules
        metadata: dict[str, Any] = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "code_challenge_methods_supported": None if rules.pkce is None else list(rules.pkce),
            "registration_endpoint": f"{self.issuer}/register" if rules.registers else None,
            "token_endpoint_auth_methods_supported": rules.token_auth_methods,
            "client_id_metadata_document_supported": rules.takes_documents or None,
            "authorization_response_iss_parameter_supported": rules.announces_iss or None,
            "scopes_supported": list(rules.server_scopes) or None,
            **rules.metadata,
        }
        return {name: value for name, value in metadata.items() if value is not None}

    def _register(self, body: bytes) -> Reply:
        asked = json.loads(body)
        self.registrations.append(asked)
        client_id, method = self._next("client"), asked.get("token_endpoint_auth_method", "none")
        secret = "" if method == "none" else self._next("client-secret")
        self._secrets[client_id] = (secret, method)
        registration = {**asked, "client_id": client_id} | ({"client_secret": secret} if secret else {})
        return json_reply(201, registration)

    def _token(self, headers: Mapping[str, str], body: bytes) -> Reply:
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        client_id, given, method = client_of(form, headers)
        if form.get("client_id") != client_id:  # as the servers of the official SDK want it
            return json_reply(401, {"error": "invalid_client", "error_description": "no client_id"})
        self.forms.append({**form, "client_id": client_id, "authenticated_by": method})
        secret, wanted = self._secrets.get(client_id, (self.rules.clients.get(client_id), None))
        if (secret or "") != given or (wanted is not None and wanted != method):
            return json_reply(401, {"error": "invalid_client"})
        if form.get("grant_type") == "refresh_token":
            return self._refreshed(form)
        if form.get("grant_type") == "client_credentials":
            tokens = self._tokens(form.get("scope", ""))
            return json_reply(200, {name: value for name, value in tokens.items() if name != "refresh_token"})
        return self._redeemed(form, client_id)

    def _redeemed(self, form: Mapping[str, str], client_id: str) -> Reply:
        asked = self._codes.pop(form.get("code", ""), None)
        if asked is None:
            return json_reply(400, {"error": "invalid_grant", "error_description": "no such code"})
        digest = sha256(form.get("code_verifier", "").encode()).digest()
        proof = urlsafe_b64encode(digest).rstrip(b"=").decode()
        same = (asked["client_id"], asked["redirect_uri"], asked["code_challenge"], asked.get("resource"))
        if same != (client_id, form.get("redirect_uri"), proof, form.get("resource")):
            return json_reply(
                400, {"error": "invalid_grant", "error_description": "another client or verifier"}
            )
        return json_reply(200, self._tokens(asked.get("scope", "")))

    def _refreshed(self, form: Mapping[str, str]) -> Reply:
        token = form.get("refresh_token", "")
        if token in self._used:
            self.double_spends += 1
            self._refresh.clear()
            self._access.clear()
        scope = self._refresh.get(token)
        if scope is None:
            return json_reply(400, {"error": "invalid_grant"})
        if self.rules.rotates:
            del self._refresh[token]
            self._used.add(token)
        self.refreshes += 1
        tokens = self._tokens(scope)
        return json_reply(200, tokens if self.rules.rotates else {**tokens, "refresh_token": None})

    def _tokens(self, scope: str) -> dict[str, Any]:
        access, refresh = self._next("access"), self._next("refresh")
        self._access[access] = scope
        self._refresh[refresh] = scope
        tokens = {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": self.rules.expires_in,
            "refresh_token": refresh,
            **({"scope": scope} if scope else {}),
            **self.rules.token,
        }
        return {name: value for name, value in tokens.items() if value is not None}

    def _mcp(self, method: str, headers: Mapping[str, str], body: bytes) -> Reply:
        token = headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self._access:
            return 401, {"www-authenticate": self._challenge(self.rules.challenge_scopes)}, b""
        if method != "POST":
            return 405, {}, b""
        message = json.loads(body)
        granted = self._access[token].split()
        is_call = message.get("method") == "tools/call"
        if is_call and not set(self.rules.call_scopes) <= set(granted):
            challenge = self._challenge(self.rules.call_scopes, 'error="insufficient_scope", ')
            return 403, {"www-authenticate": challenge}, b""
        if "id" not in message:
            return 202, {}, b""
        return json_reply(200, {"jsonrpc": "2.0", "id": message["id"], **_result(message)})

    def _challenge(self, scopes: tuple[str, ...], more: str = "") -> str:
        words = f"Bearer {more}"
        if self.rules.resource_at == "header":
            words += f'resource_metadata="{self.base}/described"'
        if scopes:
            words += f', scope="{" ".join(scopes)}"'
        return words


def _result(message: Mapping[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            info = {"name": "protected", "version": "1"}
            version = "2025-11-25"
            return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
        case "tools/list":
            schema = {"type": "object", "properties": {"text": {"type": "string"}}}
            return {"result": {"tools": [{"name": "echo", "description": "Echo.", "inputSchema": schema}]}}
        case "tools/call":
            text = str(message["params"]["arguments"].get("text", ""))
            return {"result": {"content": [{"type": "text", "text": f"echo: {text}"}]}}
        case _:
            return {"error": {"code": -32601, "message": "no such method"}}


def client_of(form: Mapping[str, str], headers: Mapping[str, str]) -> tuple[str, str, str]:
    """Who asks, with which secret, and by which method."""
    basic = headers.get("authorization", "")
    if basic.startswith("Basic "):
        name, _, secret = b64decode(basic[6:]).decode().partition(":")
        return unquote_plus(name), unquote_plus(secret), "client_secret_basic"
    secret = form.get("client_secret", "")
    return form.get("client_id", ""), secret, "client_secret_post" if secret else "none"


def json_reply(status: int, data: Any) -> Reply:
    """An answer with `data`, which nobody keeps."""
    return (
        status,
        {"content-type": "application/json", "cache-control": "no-store"},
        json.dumps(data).encode(),
    )
