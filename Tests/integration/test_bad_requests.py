"""Requests that are wrong in content: payloads, provider tokens, device tokens, fields. None of them is a trap."""

import json
import time
import uuid

import pytest

from support.credentials import TEAM, TOPIC, Credentials
from support.daemon import Daemon
from support.h2client import H2Client, push_fields


@pytest.fixture(scope="module")
def one_for_all(credentials):
    """One daemon for all of these: it must outlive each of them."""
    daemon = Daemon(credentials)
    daemon.add_app("true")
    try:
        yield daemon.start()
        daemon.stop()
    finally:
        daemon.clear_away()


@pytest.fixture
def shared(one_for_all: Daemon) -> Daemon:
    """The same; started again where it did not, so that one fault fails one test."""
    if not one_for_all.process or one_for_all.process.poll() is not None:
        one_for_all.log_file.unlink()
        one_for_all.start()
    return one_for_all


@pytest.fixture
def alive(shared: Daemon):
    """The daemon; afterwards it must still take a push."""
    count = shared.recorders[0].count()
    yield shared
    assert shared.recorders[0].count() == count, "a bad request woke the handler"
    call = str(uuid.uuid4())
    with H2Client(shared.host_and_port, shared.credentials.context(certificate=True)) as client:
        assert client.push(shared.device_token(), apns_id=call).status == 200
    shared.recorders[0].wait(call)
    shared.check_alive()


NOT_AN_OBJECT = {
    "empty": b"",
    "white space": b" \n",
    "array": b"[]",
    "string": b'"x"',
    "number": b"1",
    "null": b"null",
    "unclosed": b'{"a":1',
    "two objects": b"{}{}",
    "trailing comma": b'{"a":1,}',
    "comment": b"{/* */}",
    "single quotes": b"{'a':1}",
    "leading zero": b'{"a":01}',
    "NaN": b'{"a":NaN}',
    "bare control character": b'{"a":"\n"}',
    "bad escape": b'{"a":"\\x"}',
    "lone surrogate": b'{"a":"\\ud800"}',
    "half an escape": b'{"a":"\\u12"}',
    "invalid UTF-8": b'{"a":"\xff\xfe"}',
    "overlong UTF-8": b'{"a":"\xc0\xaf"}',
    "UTF-8 surrogate": b'{"a":"\xed\xa0\x80"}',
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf{}",
    "NUL": b"{}\0",
    "deep": b'{"a":' + b"[" * 2500 + b"]" * 2500 + b"}",
    "gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
}


@pytest.mark.parametrize("payload", NOT_AN_OBJECT.values(), ids=NOT_AN_OBJECT.keys())
def test_a_payload_that_is_no_json_object(alive: Daemon, payload: bytes) -> None:
    call = str(uuid.uuid4())
    with H2Client(alive.host_and_port, alive.credentials.context(certificate=True)) as client:
        answer = client.push(alive.device_token(), payload, apns_id=call)
    assert (answer.status, answer.reason) == (400, "PayloadEmpty")
    assert answer.frames == ["headers", "data+end"]
    assert answer.fields["apns-id"] == call


NOW = int(time.time())
IAT = {
    "integer": (str(NOW), 200),
    "float": (f"{NOW}.25", 200),
    "numeric string": (f'"{NOW}"', 200),
    "exponent": (f"{NOW / 1e9:.9f}e9", 200),
    "a minute ahead": (str(NOW + 50), 200),
    "over an hour old": (str(NOW - 3700), "ExpiredProviderToken"),
    "1e300": ("1e300", "InvalidProviderToken"),
    "-1e300": ("-1e300", None),
    "1e999": ("1e999", "InvalidProviderToken"),
    "2^63": ("9223372036854775808", "InvalidProviderToken"),
    "2^64": ("18446744073709551616", "InvalidProviderToken"),
    "-2^63": ("-9223372036854775808", None),
    "string 1e300": ('"1e300"', "InvalidProviderToken"),
    "long digits": ('"' + "9" * 500 + '"', "InvalidProviderToken"),
    "NaN": ("NaN", "InvalidProviderToken"),
    "string NaN": ('"nan"', "InvalidProviderToken"),
    "null": ("null", "InvalidProviderToken"),
    "true": ("true", "InvalidProviderToken"),
    "array": (f"[{NOW}]", "InvalidProviderToken"),
    "words": ('"yesterday"', "InvalidProviderToken"),
}


@pytest.mark.parametrize(("iat", "outcome"), IAT.values(), ids=IAT.keys())
def test_iat_in_every_shape(shared: Daemon, iat: str, outcome: int | str | None) -> None:
    token = shared.credentials.forged_token(f'{{"iss":"{TEAM}","iat":{iat}}}')
    with H2Client(shared.host_and_port, shared.credentials.context()) as client:
        answer = client.push(shared.device_token(), authorization=f"bearer {token}")
    if outcome == 200:
        assert answer.status == 200, answer
    else:
        assert answer.status == 403
        assert answer.reason in ([outcome] if outcome else ["InvalidProviderToken", "ExpiredProviderToken"])
    shared.check_alive()


def forgeries(credentials: Credentials, foreign: Credentials) -> dict[str, str]:
    """Provider tokens that are wrong, each in another way."""
    good = credentials.token()
    header, claims, signature = good.split(".")
    plain = json.dumps({"iss": TEAM, "iat": NOW})

    def with_header(**members: object) -> str:
        return credentials.forged_token(plain, json.dumps({"alg": "ES256", "kid": credentials.key_id} | members))

    flipped = ("B" if signature[0] == "A" else "A") + signature[1:]
    return {
        "nothing": "",
        "one part": "abc",
        "four parts": good + ".x",
        "no signature": f"{header}.{claims}.",
        "short signature": f"{header}.{claims}.{signature[:40]}",
        "all zero signature": f"{header}.{claims}.{'A' * 86}",
        "all ones signature": f"{header}.{claims}.{'_' * 85}w",
        "changed signature": f"{header}.{claims}.{flipped}",
        "padding": good + "==",
        "changed claims": f"{header}.{claims[:-2]}AA.{signature}",
        "alg none": with_header(alg="none"),
        "alg HS256": with_header(alg="HS256"),
        "alg of no kind": with_header(alg=7),
        "unknown kid": with_header(kid="ZZZZZZZZZZ"),
        "kid with a path": with_header(kid="../../etc/passwd"),
        "kid of no kind": with_header(kid={"a": 1}),
        "no kid": credentials.forged_token(plain, '{"alg":"ES256"}'),
        "header no JSON": credentials.forged_token(plain, "{"),
        "claims no JSON": credentials.forged_token("{"),
        "claims an array": credentials.forged_token("[1]"),
        "no iat": credentials.forged_token(json.dumps({"iss": TEAM})),
        "no iss": credentials.forged_token(json.dumps({"iat": NOW})),
        "another team": credentials.token(iss="OTHERTEAM1"),
        "another key": foreign.forged_token(plain, json.dumps({"alg": "ES256", "kid": credentials.key_id})),
        "very long": credentials.token(pad="x" * 9000),
    }


def test_forged_provider_tokens_are_refused_alike(
    shared: Daemon, credentials: Credentials, foreign_credentials: Credentials
) -> None:
    outcomes = {}
    for name, token in forgeries(credentials, foreign_credentials).items():
        with H2Client(shared.host_and_port, credentials.context()) as client:
            answer = client.push(shared.device_token(), authorization=f"bearer {token}".strip())
            outcomes[name] = (answer.status, answer.reason)
    wrong = {name: outcome for name, outcome in outcomes.items() if outcome != (403, "InvalidProviderToken")}
    # No token at all may as well count as a missing one.
    assert wrong.pop("nothing", (403, "MissingProviderToken")) == (403, "MissingProviderToken")
    assert not wrong
    shared.check_alive()


@pytest.mark.parametrize(
    ("token", "status", "reason"),
    [
        ("00", 400, "BadDeviceToken"),
        ("0" * 63, 400, "BadDeviceToken"),
        ("0" * 65, 400, "BadDeviceToken"),
        ("zz" * 32, 400, "BadDeviceToken"),
        ("00" * 2000, 400, "BadDeviceToken"),
        ("é" * 32, 400, "BadDeviceToken"),
        ("%30" * 64, 400, "BadDeviceToken"),
        ("../../v1/status", 400, None),
        ("00" * 32 + "?x=1", 400, None),
        ("", 400, "MissingDeviceToken"),
    ],
    ids=["short", "a digit less", "a digit more", "no hex", "long", "not ASCII", "percent", "dots", "query", "nothing"],
)
def test_a_device_token_of_the_wrong_shape(alive: Daemon, token: str, status: int, reason: str | None) -> None:
    with H2Client(alive.host_and_port, alive.credentials.context(certificate=True)) as client:
        answer = client.push(token)
        if reason:
            assert (answer.status, answer.reason) == (status, reason)
        else:
            assert answer.status in (400, 404)


def test_repeated_apns_fields_are_refused(alive: Daemon) -> None:
    with H2Client(alive.host_and_port, alive.credentials.context(certificate=True)) as client:
        for name, value in [("apns-topic", TOPIC), ("apns-id", str(uuid.uuid4())), ("apns-push-type", "voip")]:
            answer = client.request([*push_fields(alive.device_token()), (name, value)])
            assert (answer.status, answer.reason) == (400, "DuplicateHeaders")


def test_huge_and_many_fields_are_refused_and_harm_nobody_else(alive: Daemon) -> None:
    context = alive.credentials.context(certificate=True)
    many = [(f"x-{number}", "y") for number in range(500)]
    huge = [("x-huge", "y" * 12_000), ("x-more", "y" * 12_000)]
    for extra in (many, huge):
        with H2Client(alive.host_and_port, context) as client:
            stream = client.send([*push_fields(alive.device_token()), *extra])
            try:
                answer = client.wait(stream)
                assert answer.frames[-1] == "reset" or 400 <= answer.status < 500, answer
            except (AssertionError, ConnectionError):
                assert client.is_closed or client.goaway


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("apns-id", "x" * 5000), ("apns-id", ""), ("apns-topic", "x" * 5000), ("apns-topic", ""),
        ("apns-expiration", "-1"), ("apns-expiration", "1e300"), ("apns-expiration", "9" * 400),
        ("apns-priority", "9" * 400), ("apns-push-type", "\x7f"), ("apns-collapse-id", "é" * 40),
        ("apns-expiration", "+1"), ("apns-expiration", " 1"), ("apns-expiration", "0x10"),
    ],
)  # fmt: skip
def test_a_field_with_a_wild_value(alive: Daemon, name: str, value: str) -> None:
    with H2Client(alive.host_and_port, alive.credentials.context(certificate=True)) as client:
        answer = client.push(alive.device_token(), **{name.replace("-", "_"): value})
        assert answer.frames[-1] == "reset" or answer.status == 400, answer


def test_a_content_length_that_is_wrong_is_a_broken_request(alive: Daemon) -> None:
    for length in ("1", "5000", "-1", "x", "9" * 40):
        with H2Client(alive.host_and_port, alive.credentials.context(certificate=True)) as client:
            stream = client.send([*push_fields(alive.device_token()), ("content-length", length)])
            try:
                answer = client.wait(stream)
                assert answer.frames[-1] == "reset" or answer.status == 400, answer
            except (AssertionError, ConnectionError):
                assert client.is_closed or client.goaway
