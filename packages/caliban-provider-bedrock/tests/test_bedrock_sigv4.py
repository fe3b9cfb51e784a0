"""Signatures, held against the vendor's own signer."""

from __future__ import annotations

from datetime import UTC, datetime

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_provider.call import Prepared
from caliban_provider_bedrock.sigv4 import AwsKeys, signed

AT = datetime(2026, 11, 27, 23, 59, 58, tzinfo=UTC)
WORDS = st.text("abcXYZ019-._~", min_size=1, max_size=12)
SEGMENTS = st.text("abcXYZ019-._~%:@!$&'()*+,;= äß/", max_size=16)
HEADERS = st.dictionaries(
    WORDS.map(lambda word: "x-" + word.lower().replace("~", "t").replace(".", "d")),
    st.text("abc 123,;=\t\"'", max_size=20),
    max_size=4,
)
KEYS = st.builds(
    lambda key_id, secret, token: AwsKeys(
        access_key_id=key_id, secret_access_key=secret, session_token=token
    ),
    WORDS,
    st.text("abc/+=123", min_size=1, max_size=40),
    st.none() | WORDS,
)


def theirs(request: Prepared, keys: AwsKeys, region: str, at: datetime) -> str:
    """The header that the vendor's signer writes, at a time of ours."""
    sent = AWSRequest(
        method=request.method, url=request.url, headers=dict(request.headers), data=request.body
    )
    auth = SigV4Auth(
        Credentials(keys.access_key_id, keys.secret_access_key, keys.session_token), "bedrock", region
    )
    sent.context["timestamp"] = at.strftime("%Y%m%dT%H%M%SZ")
    auth._modify_request_before_signing(sent)
    to_sign = auth.string_to_sign(sent, auth.canonical_request(sent))
    auth._inject_signature_to_request(sent, auth.signature(to_sign, sent))
    return str(sent.headers["Authorization"])


@settings(max_examples=examples(200))
@given(
    st.sampled_from(
        ["https://bedrock-runtime.eu-west-1.amazonaws.com", "http://127.0.0.1:8443", "https://a:443"]
    ),
    st.lists(SEGMENTS, max_size=5).map("/".join),
    st.lists(st.tuples(WORDS, WORDS).map("=".join), max_size=4).map("&".join),
    HEADERS,
    st.tuples(KEYS, st.binary(max_size=50), st.sampled_from(["POST", "GET"])),
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)),
)
def test_any_request_is_signed_as_the_vendor_signs_it(
    host: str,
    path: str,
    query: str,
    headers: dict[str, str],
    rest: tuple[AwsKeys, bytes, str],
    at: datetime,
) -> None:
    keys, body, method = rest
    url = f"{host}/{path}" + (f"?{query}" if query else "")
    request = Prepared(method=method, url=url, headers=headers, body=body)
    mine = signed(request, keys=keys, region="eu-west-1", service="bedrock", at=at)
    assert mine.headers["authorization"] == theirs(request, keys, "eu-west-1", at)


def test_an_arn_in_the_path_is_encoded_twice_in_what_is_signed() -> None:
    arn = "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.anthropic.claude-sonnet-5-5"
    url = f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{arn}/invoke-with-response-stream"
    request = Prepared(method="POST", url=url, headers={"content-type": "application/json"}, body=b"{}")
    keys = AwsKeys(access_key_id="AKID", secret_access_key="secret", session_token="tok")
    mine = signed(request, keys=keys, region="us-east-1", service="bedrock", at=AT)
    assert mine.headers["authorization"] == theirs(request, keys, "us-east-1", AT)
    assert mine.headers["x-amz-date"] == "20261127T235958Z"
    assert mine.headers["x-amz-security-token"] == "tok"
    assert (mine.url, mine.body) == (request.url, request.body)


def test_no_secret_shows_in_a_value() -> None:
    keys = AwsKeys(access_key_id="AKID", secret_access_key="hidden", session_token="concealed")
    assert "hidden" not in repr(keys) and "concealed" not in repr(keys)
