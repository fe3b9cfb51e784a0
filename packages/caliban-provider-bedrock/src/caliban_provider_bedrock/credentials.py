"""Where the keys that sign, and the region, come from."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

import anyio
from msgspec import Struct

from caliban_provider.credential import Credential
from caliban_provider.error_body import clean
from caliban_provider.errors import AuthenticationError
from caliban_provider_bedrock.sigv4 import AwsKeys

if TYPE_CHECKING:
    from botocore.session import Session  # type: ignore[import-untyped]


class Access(Struct, frozen=True, kw_only=True):
    """What a request needs: no keys where nothing is signed, no region where none is known."""

    keys: AwsKeys | None = None
    region: str | None = None


class AccessSource(Protocol):
    """Finds keys and region."""

    async def fetch(self, refused: bool) -> Credential[Access]:
        """What is found now; `refused` says that what was found before was turned away.

        Raises `AuthenticationError`.
        """
        ...


class GivenAccess:
    """Keys and region that were given, and stay."""

    def __init__(self, access: Access) -> None:
        self._grant = Credential(value=access)

    async def fetch(self, refused: bool) -> Credential[Access]:
        """What was given."""
        return self._grant


class ChainAccess:
    """What the vendor's own library finds: environment, profiles, SSO, a process, the machine's role.

    The library blocks and is large, so it is loaded and asked in a thread. Keys without an end are read anew
    each time, so that a new login counts; others the library renews when their end is near. Without
    `needs_keys` only the region is looked up; a `region` that is given wins over the profile's.
    """

    def __init__(
        self, *, profile: str | None = None, region: str | None = None, needs_keys: bool = True
    ) -> None:
        self._profile = profile
        self._region = region
        self._needs_keys = needs_keys
        self._session: Session | None = None

    async def fetch(self, refused: bool) -> Credential[Access]:
        """What the library finds. Raises `AuthenticationError` when that is nothing."""
        return await anyio.to_thread.run_sync(self._look, refused, abandon_on_cancel=True)

    def _look(self, refused: bool) -> Credential[Access]:
        try:
            from botocore.exceptions import (  # type: ignore[import-untyped]
                BotoCoreError,
                ClientError,
            )
            from botocore.session import Session
        except ImportError:
            raise AuthenticationError(
                "the environment has no AWS keys and region, and botocore, which looks further, is missing",
                hint="pip install 'caliban[bedrock]', or set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
                "AWS_REGION",
            ) from None
        try:
            session = self._session if self._session is not None and not refused else None
            grant = self._found(session or Session(profile=self._profile))
        except (BotoCoreError, ClientError, OSError) as error:
            raise AuthenticationError(
                f"the AWS credentials cannot be had: {clean(str(error))}",
                hint="log in again (`aws sso login`), or check the profile in ~/.aws/config",
            ) from error
        return grant

    def _found(self, session: Session) -> Credential[Access]:
        region = self._region or session.get_config_variable("region") or None
        if not self._needs_keys:
            return Credential(value=Access(region=region))
        credentials = session.get_credentials()
        frozen = None if credentials is None else credentials.get_frozen_credentials()
        if frozen is None or not frozen.access_key or not frozen.secret_key:
            raise AuthenticationError(
                "there are no AWS credentials",
                hint="set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                "AWS_BEARER_TOKEN_BEDROCK; `aws sso login` and `aws configure` make a profile",
            )
        passes = getattr(credentials, "_expiry_time", None)
        self._session = session if isinstance(passes, datetime) else None
        keys = AwsKeys(
            access_key_id=frozen.access_key,
            secret_access_key=frozen.secret_key,
            session_token=frozen.token or None,
        )
        return Credential(
            value=Access(keys=keys, region=region),
            expires_at_s=passes.timestamp() if isinstance(passes, datetime) else None,
        )
