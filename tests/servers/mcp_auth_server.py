"""The official SDK's server with its own authorisation server, for `test_servers_mcp_login.py`.

Run by the Python that `scripts/servers mcp-python` installs: `mcp_auth_server.py PORT EXPIRES_S`. Who opens
its login agrees at once. The client `mine` may bring the word `jag` of an identity provider instead.
"""

import secrets
import sys
import time

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import JWT_BEARER_GRANT_TYPE, OAuthClientInformationFull, OAuthToken

PORT, EXPIRES_S = int(sys.argv[1]), int(sys.argv[2])
BASE = f"http://127.0.0.1:{PORT}"


class Provider:
    def __init__(self):
        mine = OAuthClientInformationFull(
            client_id="mine",
            client_secret="hush-hush-hush-1",
            redirect_uris=[f"{BASE}/nowhere"],
            grant_types=[JWT_BEARER_GRANT_TYPE],
            token_endpoint_auth_method="client_secret_basic",
            scope="tools",
        )
        self.clients, self.codes, self.access, self.refresh = {"mine": mine}, {}, {}, {}
        self.spent = set()

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        code = secrets.token_urlsafe(24)
        self.codes[code] = AuthorizationCode(
            code=code,
            client_id=client.client_id,
            scopes=params.scopes or ["tools"],
            expires_at=time.time() + 60,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state, iss=BASE)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self.give(client, authorization_code.scopes, authorization_code.resource)

    async def exchange_identity_assertion(self, client, params):
        if (params.assertion, params.resource) != ("jag", f"{BASE}/mcp"):
            raise TokenError("invalid_grant")
        print("exchanged", flush=True)
        return self.give(client, params.scopes or [], params.resource)

    async def load_refresh_token(self, client, refresh_token):
        if refresh_token in self.spent:
            print("spent twice", flush=True)
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        self.spent.add(refresh_token.token)
        print("renewed", flush=True)
        return self.give(client, scopes, refresh_token.resource)

    async def load_access_token(self, token):
        kept = self.access.get(token)
        return kept if kept is not None and kept.expires_at > time.time() else None

    async def revoke_token(self, token):
        self.access.pop(token.token, None)

    def give(self, client, scopes, resource):
        access, refresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        known = {"client_id": client.client_id, "scopes": scopes, "resource": resource}
        ends = int(time.time()) + 3600
        self.access[access] = AccessToken(token=access, expires_at=ends, **known)
        self.refresh[refresh] = RefreshToken(token=refresh, **known)
        # What is told is shorter than what is true: a client that renews in time has nothing to wait for.
        return OAuthToken(
            access_token=access,
            token_type="Bearer",
            expires_in=EXPIRES_S,
            scope=" ".join(scopes),
            refresh_token=refresh,
        )


server = MCPServer(
    "protected",
    auth_server_provider=Provider(),
    auth=AuthSettings(
        issuer_url=BASE,
        resource_server_url=f"{BASE}/mcp",
        required_scopes=["tools"],
        identity_assertion_enabled=True,
        validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["tools"], default_scopes=["tools"]
        ),
    ),
)


@server.tool()
def double(number: int) -> str:
    """Twice the number."""
    return str(2 * number)


print("ready", flush=True)
server.run(transport="streamable-http", host="127.0.0.1", port=PORT)
