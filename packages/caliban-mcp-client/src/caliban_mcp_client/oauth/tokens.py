"""The token endpoint: a code, a refresh token or a signed word for tokens (RFC 6749, 7523, 8693, 8707)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from math import isnan
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_plus, urlencode

from caliban_common.text import one_line
from caliban_mcp_client.errors import LoginFailed
from caliban_mcp_client.oauth.challenge import split_scopes
from caliban_mcp_client.oauth.fetch import Answer, MetadataFetcher, text_of
from caliban_mcp_client.oauth.values import LoginClient, Tokens

if TYPE_CHECKING:
    from caliban_mcp_client.oauth.assertion import Assertion

EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ID_TOKEN: Final = "urn:ietf:params:oauth:token-type:id_token"
ID_JAG: Final = "urn:ietf:params:oauth:token-type:id-jag"
ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
MAX_TOKEN_CHARS: Final = 64 * 1024
MAX_LIFE_S: Final = 10 * 365 * 86_400.0
WHAT: Final = "the token endpoint"


class TokenEndpoint:
    """Asks one token endpoint as one client. `learn` is told every secret before it goes anywhere.

    `what` is what messages call it.
    """

    def __init__(
        self,
        url: str,
        client: LoginClient,
        fetcher: MetadataFetcher,
        clock: Callable[[], float],
        learn: Callable[[str], None],
        *,
        what: str = WHAT,
    ) -> None:
        self._url = url
        self._client = client
        self._fetcher = fetcher
        self._clock = clock
        self._learn = learn
        self._what = what

    async def redeem(self, code: str, verifier: str, redirect_uri: str, resource: str) -> Tokens:
        """Tokens for the code of a login. Raises `LoginFailed`."""
        return await self._ask(
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": redirect_uri,
                "code_verifier": verifier,
                "resource": resource,
            }
        )

    async def refresh(self, tokens: Tokens, resource: str) -> Tokens:
        """New tokens for old ones; what the answer leaves out stays as it was. Raises `LoginFailed`."""
        fresh = await self._ask(
            {"grant_type": "refresh_token", "refresh_token": tokens.refresh, "resource": resource}
        )
        return Tokens(
            access=fresh.access,
            refresh=fresh.refresh or tokens.refresh,
            scopes=fresh.scopes if fresh.scopes is not None else tokens.scopes,
            obtained_at=fresh.obtained_at,
            expires_at=fresh.expires_at,
        )

    async def grant(self, scopes: tuple[str, ...], resource: str, proof: Assertion | None) -> Tokens:
        """Tokens for the client itself, which shows a secret or a signed `proof`. Raises `LoginFailed`."""
        form = {"grant_type": "client_credentials", "resource": resource}
        return await self._ask(form | _scope(scopes) | self._signed(proof))

    async def exchange(
        self, id_token: str, audience: str, resource: str, scopes: tuple[str, ...]
    ) -> tuple[str, tuple[str, ...]]:
        """What the authorisation server `audience` takes for an ID token (an ID-JAG), and for which scopes.

        Raises `LoginFailed`.
        """
        form = {
            "grant_type": EXCHANGE,
            "requested_token_type": ID_JAG,
            "audience": audience,
            "resource": resource,
            "subject_token": id_token,
            "subject_token_type": ID_TOKEN,
        }
        answer = await self._post(form | _scope(scopes))
        data = self._taken(answer)
        jag = text_of(data, "access_token", max_chars=MAX_TOKEN_CHARS)
        self._learn(jag)
        kind = data.get("issued_token_type")
        if kind != ID_JAG:
            shown = one_line(str(kind), max_chars=80)
            raise LoginFailed("identity", f"{self._what} gave a token of the type {shown!r}, not {ID_JAG}")
        if not _is_token(jag):
            raise LoginFailed("identity", f"{self._what} gave no token that can be sent")
        scope = data.get("scope")
        return jag, split_scopes(scope) if isinstance(scope, str) and scope.strip() else scopes

    async def bear(self, jag: str, scopes: tuple[str, ...], resource: str, proof: Assertion | None) -> Tokens:
        """Tokens for what an identity provider has said of a person (an ID-JAG), and as `grant` shows it.

        Raises `LoginFailed`.
        """
        form = {"grant_type": JWT_BEARER, "assertion": jag, "resource": resource}
        return await self._ask(form | _scope(scopes) | self._signed(proof))

    def _signed(self, proof: Assertion | None) -> dict[str, str]:
        if proof is None:
            return {}
        word = proof.signed(self._client.client_id, self._clock())
        self._learn(word)
        return {"client_assertion_type": ASSERTION_TYPE, "client_assertion": word}

    async def _ask(self, form: dict[str, str]) -> Tokens:
        asked_at = self._clock()
        return self._read(await self._post(form), asked_at)

    async def _post(self, form: dict[str, str]) -> Answer:
        headers = {"content-type": "application/x-www-form-urlencoded"}
        client = self._client
        for secret in (client.client_secret, form.get("code", ""), form.get("code_verifier", "")):
            self._learn(secret)
        if client.token_auth == "client_secret_basic":
            pair = f"{quote_plus(client.client_id)}:{quote_plus(client.client_secret)}"
            coded = b64encode(pair.encode()).decode("ascii")
            self._learn(coded)
            headers["authorization"] = f"Basic {coded}"
        elif client.token_auth == "client_secret_post":
            form["client_secret"] = client.client_secret
        # Beside Basic nobody needs it, and the servers of the official SDK refuse to do without.
        form["client_id"] = client.client_id
        return await self._fetcher.post(self._url, self._what, headers, urlencode(form).encode("ascii"))

    def _taken(self, answer: Answer) -> Mapping[str, Any]:
        if answer.status != 200 or answer.data is None or "error" in answer.data:
            raise _refused(answer, self._what)
        return answer.data

    def _read(self, answer: Answer, asked_at: float) -> Tokens:
        data = self._taken(answer)
        access = text_of(data, "access_token", max_chars=MAX_TOKEN_CHARS)
        refresh = text_of(data, "refresh_token", max_chars=MAX_TOKEN_CHARS)
        self._learn(access)
        self._learn(refresh)
        if not _is_token(access) or (refresh and not _is_token(refresh)):
            raise LoginFailed("token", "the authorisation server gave no token that can be sent")
        kind = data.get("token_type", "Bearer")
        if not isinstance(kind, str) or kind.lower() != "bearer":
            shown = one_line(str(kind), max_chars=40)
            raise LoginFailed(
                "token", f"the authorisation server gave a token of the type {shown!r}, not Bearer"
            )
        scope = data.get("scope")
        life_s = _life_s(data)
        return Tokens(
            access=access,
            refresh=refresh,
            scopes=split_scopes(scope) if isinstance(scope, str) and scope.strip() else None,
            obtained_at=asked_at,
            expires_at=None if life_s is None else asked_at + life_s,
        )


def _scope(scopes: tuple[str, ...]) -> dict[str, str]:
    return {"scope": " ".join(scopes)} if scopes else {}


def _refused(answer: Answer, what: str) -> LoginFailed:
    data: Mapping[str, Any] = answer.data or {}
    code = one_line(text_of(data, "error"), max_chars=60)
    description = one_line(text_of(data, "error_description"), max_chars=200)
    if not code:
        words = f"{what} gave no token: status {answer.status}"
        is_for_now = answer.status >= 500 or answer.status == 429
        return LoginFailed("unreachable" if is_for_now else "token", words)
    words = f"{what} refused: {code}" + (f" ({description})" if description else "")
    is_for_now = code in ("temporarily_unavailable", "server_error", "slow_down")
    return LoginFailed("unreachable" if is_for_now else "token", words, code=code)


def _life_s(data: Mapping[str, Any]) -> float | None:
    """How long the token is good for, where somebody said so in any way that means one thing."""
    value = data.get("expires_in")
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or isnan(value):
        return None
    return min(max(float(value), 0.0), MAX_LIFE_S)


def _is_token(text: str) -> bool:
    """Whether it is one word of printable ASCII, as a header can hold it."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text
