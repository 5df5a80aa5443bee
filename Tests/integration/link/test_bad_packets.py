"""Packets that no device may send, and what a device must not get: each reason code of Documentation/link.md."""

import base64
import contextlib
import hashlib
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from support import mqtt
from support.links import invitation, send
from support.mqtt import (
    AUTH_DATA, AUTH_METHOD, CONNACK, DISCONNECT, MAXIMUM_PACKET, METHOD, PINGREQ, PUBACK, PUBLISH, REQUEST_PROBLEMS,
    SUBACK, SUBSCRIPTION_ID, TOPIC_ALIAS, USER, DeviceKey, Gone, Link, Packet, connect_packet, packet, puback_packet,
    publish_packet, registration, subscribe_packet,
)  # fmt: skip
from support.sites import Site

# CONNECT


def refused(site: Site, data: bytes, key: DeviceKey | None) -> list[tuple[int, int]]:
    with Link(site.address, key) as link:
        with contextlib.suppress(Gone):
            link.send(data)
        return [(one.kind, one.reason) for one in link.rest()]


def own(key: DeviceKey, *pairs, **options) -> bytes:
    return connect_packet(key.id, *pairs, **options)


WILL = b"\0" + mqtt.text("will") + mqtt.text("gone")
# What is wrong with a CONNECT, and its refusal; none: it is closed without a word (section 3.1.4 of the standard).
CONNECTS: dict[str, tuple[Callable[[DeviceKey], bytes], int | None]] = {
    "a will": (lambda key: own(key, flags=6, tail=WILL), 0x83),
    "Maximum Packet Size 8191": (lambda key: own(key, (MAXIMUM_PACKET, 8191)), 0x83),
    "a revision that is no number": (lambda key: own(key, (USER, ("revision", "x"))), 0x83),
    "a revision of 2^63": (lambda key: own(key, (USER, ("revision", str(1 << 63)))), 0x83),
    "MQTT 3.1.1": (lambda key: own(key, version=4), 0x84),
    "MQTT 6": (lambda key: own(key, version=6), 0x84),
    "MQTT 3.1": (lambda key: own(key, name="MQIsdp", version=3), 0x84),
    "an empty client id": (lambda _: connect_packet(""), 0x85),
    "another client id": (lambda _: connect_packet("a" * 52), 0x85),
    "a client id in upper case": (lambda key: connect_packet(key.id.upper()), 0x85),
    "another method": (lambda key: own(key, (AUTH_METHOD, "SCRAM-SHA-1")), 0x8C),
    "another method with data": (lambda key: own(key, (AUTH_METHOD, "x"), (AUTH_DATA, key.proof(bytes(32)))), 0x8C),
    "short data": (lambda key: own(key, (AUTH_METHOD, METHOD), (AUTH_DATA, b"x")), 0x87),
    "a signature over another connection": (
        lambda key: own(key, (AUTH_METHOD, METHOD), (AUTH_DATA, key.proof(bytes(32)))), 0x87),
    "a signature of no curve": (lambda key: own(key, (AUTH_METHOD, METHOD), (AUTH_DATA, key.public + bytes(72))), 0x87),
    "no point": (lambda key: own(key, (AUTH_METHOD, METHOD), (AUTH_DATA, bytes(163))), 0x87),
    "data without a method": (lambda key: own(key, (AUTH_DATA, b"x")), None),
    "17 KiB": (lambda key: own(key, *[(USER, ("x", "y" * 1000))] * 17), 0x95),
    "a reserved flag": (lambda key: own(key, flags=3), None),
    "flags of the first byte": (lambda key: bytes([0x11]) + own(key)[1:], None),
    "a property twice": (lambda key: own(key, (MAXIMUM_PACKET, 9000), (MAXIMUM_PACKET, 9000)), None),
    "an unknown property": (lambda key: packet(1, mqtt.text("MQTT") + b"\5\2\0\0\2\x7f\1" + mqtt.text(key.id)), None),
    "U+0000": (lambda key: own(key, (USER, ("version", "\0"))), None),
    "no UTF-8": (lambda key: own(key, (USER, (b"\xff", b"\xfe"))), None),
    "bytes behind it": (lambda key: own(key, tail=b"x"), None),
    "PINGREQ first": (lambda _: packet(PINGREQ), None),
    "PUBLISH first": (lambda key: publish_packet(f"ringwake/1/u/{key.id}", b"{}"), None),
    "a length of five bytes": (lambda _: b"\x10\xff\xff\xff\xff\x01", None),
    "HTTP": (lambda _: b"GET / HTTP/1.1\r\n\r\n", None),
    "AUTH first": (lambda _: packet(15, b"\x18\0"), None),
}  # fmt: skip


@pytest.mark.parametrize("what", CONNECTS)
def test_a_bad_connect_is_refused(site: Site, key: DeviceKey, what: str) -> None:
    make, reason = CONNECTS[what]
    assert refused(site, make(key), key) == ([] if reason is None else [(CONNACK, reason)])
    site.check()


def test_a_device_without_a_key_and_one_that_nobody_knows_are_refused(site: Site, key: DeviceKey) -> None:
    assert refused(site, own(key), None) == [(CONNACK, 0x87)]
    stranger = DeviceKey.make()
    assert refused(site, own(stranger), stranger) == [(CONNACK, 0x87)]
    assert refused(site, own(stranger, (USER, ("probe", "1"))), stranger) == [(CONNACK, 0x87)]


def test_nobody_gets_another_devices_id(site: Site, key: DeviceKey) -> None:
    other = site.make_key()
    with site.link(other) as link:
        # By a certificate, and by a signature for the other's id.
        assert refused(site, own(other), key) == [(CONNACK, 0x85)]
        forged = key.proof(bytes(32), device=other.id)
        assert refused(site, own(other, (AUTH_METHOD, METHOD), (AUTH_DATA, forged)), key) == [(CONNACK, 0x87)]
        link.send(packet(PINGREQ))
        assert link.receive().kind == mqtt.PINGRESP


def test_a_revoked_device_is_refused(site: Site, key: DeviceKey) -> None:
    with site.link(key) as link:
        assert site.gateway.ringwake("gateway", "revoke", key.id).returncode == 0
        [last] = link.rest()
        assert (last.kind, last.reason) == (DISCONNECT, 0x98)
    assert refused(site, own(key), key) == [(CONNACK, 0x87)]


def test_a_device_that_connects_too_often_is_told_when_to_come_back(site: Site, key: DeviceKey) -> None:
    for _ in range(100):
        with Link(site.address, key) as link:
            answer = link.connect(revision=0)
            if answer.reason:
                break
    assert (answer.kind, answer.reason) == (CONNACK, 0x9F) and int(answer.user["retry-after"]) > 0
    # It has no part in what another one may do.
    site.link(site.make_key()).socket.close()


def test_the_newest_connection_of_a_device_wins(site: Site, key: DeviceKey) -> None:
    with site.link(key) as older, site.link(key) as newer:
        [last] = older.rest()
        assert (last.kind, last.reason) == (DISCONNECT, 0x8E)
        newer.send(packet(PINGREQ))
        assert newer.receive().kind == mqtt.PINGRESP


# Packets of a device that is linked


def up(key: DeviceKey, payload: bytes = b"{}", packet_id: int | None = 9, *pairs, flags: int = 2) -> bytes:
    return publish_packet(f"ringwake/1/u/{key.id}", payload, packet_id, *pairs, flags=flags)


def down(key: DeviceKey, options: int = 1, *pairs) -> bytes:
    return subscribe_packet([(f"ringwake/1/d/{key.id}", options)], 9, *pairs)


# What a device must not send, and the reason of DISCONNECT.
PACKETS: dict[str, tuple[Callable[[DeviceKey], bytes], int]] = {
    "a second CONNECT": (lambda key: own(key), 0x82),
    "CONNACK": (lambda _: packet(2, b"\0\0\0"), 0x82),
    "PUBREC": (lambda _: packet(5, b"\0\1"), 0x82),
    "PUBREL": (lambda _: packet(6, b"\0\1"), 0x82),
    "PUBCOMP": (lambda _: packet(7, b"\0\1"), 0x82),
    "SUBACK": (lambda _: packet(9, b"\0\1\0\1"), 0x82),
    "UNSUBACK": (lambda _: packet(11, b"\0\1\0\0"), 0x82),
    "PINGRESP": (lambda _: packet(13), 0x82),
    "AUTH": (lambda _: packet(15, b"\x18\0"), 0x82),
    "type 0": (lambda _: packet(0), 0x81),
    "PUBACK for nothing": (lambda _: puback_packet(77), 0x82),
    "PUBACK for packet id 0": (lambda _: puback_packet(0), 0x82),
    "PUBLISH with QoS 0": (lambda key: up(key, packet_id=None, flags=0), 0x82),
    "PUBLISH with QoS 2": (lambda key: up(key, flags=4), 0x9B),
    "PUBLISH with QoS 3": (lambda key: up(key, flags=6), 0x81),
    "PUBLISH with RETAIN": (lambda key: up(key, flags=3), 0x9A),
    "PUBLISH with a topic alias": (lambda key: up(key, b"{}", 9, (TOPIC_ALIAS, 1)), 0x94),
    "PUBLISH with packet id 0": (lambda key: up(key, packet_id=0), 0x82),
    "PUBLISH with a subscription identifier": (lambda key: up(key, b"{}", 9, (SUBSCRIPTION_ID, 1)), 0x82),
    "PUBLISH without a topic": (lambda _: publish_packet("", b"{}"), 0x82),
    "PUBLISH to a wildcard": (lambda _: publish_packet("ringwake/#", b"{}"), 0x82),
    "65 KiB": (lambda key: up(key, bytes(65 << 10)), 0x95),
    "256 MiB": (lambda _: b"\x32" + mqtt.number((1 << 28) - 1) + bytes(100), 0x95),
    "17 PUBLISHes at once": (lambda key: b"".join(store(key, number) for number in range(1, 18)), 0x93),
    "a packet id that is in use": (lambda key: store(key, 5) + store(key, 5), 0x82),
    "SUBSCRIBE with a subscription identifier": (lambda key: down(key, 1, (SUBSCRIPTION_ID, 7)), 0xA1),
    "SUBSCRIBE without a filter": (lambda _: subscribe_packet([]), 0x82),
    "SUBSCRIBE with QoS 3": (lambda key: down(key, 3), 0x82),
    "SUBSCRIBE with other flags": (lambda key: bytes([0x80]) + down(key)[1:], 0x81),
    "SUBSCRIBE with packet id 0": (lambda key: subscribe_packet([("a", 1)], 0), 0x82),
    "UNSUBSCRIBE without a filter": (lambda _: packet(10, b"\0\1\0"), 0x82),
    "PINGREQ with a body": (lambda _: packet(PINGREQ, b"x"), 0x81),
    "a length of five bytes": (lambda _: b"\x32\xff\xff\xff\xff\x01", 0x81),
    "properties that are too long": (lambda _: packet(PUBLISH, mqtt.text("a") + b"\0\1\x7f", 2), 0x81),
    "a topic that is too long": (lambda _: packet(PUBLISH, b"\xff\xffa", 2), 0x81),
    "no UTF-8": (lambda _: packet(PUBLISH, mqtt.text(b"\xc0\xaf") + b"\0\1\0", 2), 0x81),
    "a surrogate": (lambda _: packet(PUBLISH, mqtt.text(b"\xed\xa0\x80") + b"\0\1\0", 2), 0x81),
}  # fmt: skip


def store(key: DeviceKey, packet_id: int) -> bytes:
    """Registrations, which are answered when they are on the disk."""
    return up(key, b'{"op":"registrations","revision":%d,"registrations":[]}' % packet_id, packet_id)


@pytest.mark.parametrize("what", PACKETS)
def test_what_a_device_must_not_send_ends_its_link(site: Site, key: DeviceKey, what: str) -> None:
    make, reason = PACKETS[what]
    with site.link(key) as link:
        with contextlib.suppress(Gone):
            link.send(make(key))
            # If it goes on, that is told at once.
            link.send(packet(PINGREQ) + packet(DISCONNECT, b"\0\0"))
        answers = link.rest()
    assert answers and (answers[-1].kind, answers[-1].reason) == (DISCONNECT, reason), answers
    assert answers[-1].words
    assert {one.kind for one in answers[:-1]} <= {PUBACK}
    site.check()


def test_only_the_devices_own_topic_can_be_subscribed(site: Site, key: DeviceKey) -> None:
    other = site.make_key()
    filters = {
        f"ringwake/1/d/{other.id}": 0x87, f"ringwake/1/u/{key.id}": 0x87, "ringwake/1/d/+": 0xA2, "#": 0xA2,
        "$SYS/#": 0xA2, f"$share/all/ringwake/1/d/{other.id}": 0x9E, "$share/all/#": 0x9E, "a": 0x87,
    }  # fmt: skip
    with site.link(key) as link, site.link(other) as owner:
        assert owner.subscribe().reasons == [1]
        token = other.token()
        assert owner.register(1, registration(token)).reason == 0
        link.send(subscribe_packet([(name, 1) for name in filters]))
        assert link.wait_for(SUBACK).reasons == list(filters.values())
        link.send(down(key, 0))
        assert link.wait_for(SUBACK).reasons == [0x83]
        # Only the owner gets what is pushed.
        call = str(uuid.uuid4())
        with pushed(site, token, call) as answer:
            push = owner.wait_for(PUBLISH)
            assert push.user["id"] == call
            owner.send(puback_packet(push.packet_id))
        assert answer() == 200
        link.send(packet(PINGREQ))
        assert link.receive().kind == mqtt.PINGRESP


@contextlib.contextmanager
def pushed(site: Site, token: str, call: str | None = None) -> Iterator[Callable[[], int]]:
    """A push that the device is to settle meanwhile; gives what says its status."""
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(send, site.gateway, token, call or str(uuid.uuid4()))
        yield lambda: answer.result().status


def test_nothing_can_be_registered_that_is_anothers(site: Site, key: DeviceKey) -> None:
    other = site.make_key()
    token = other.token()
    with site.link(other) as owner:
        assert owner.register(1, registration(token, "00000001")).reason == 0
        with site.link(key) as link:
            # Of a device, and of the honest one.
            for taken in (token, site.token):
                answer = link.register(1, registration(taken, "00000002"))
                assert answer.reason == 0x87 and "another device" in answer.words, answer
            answer = link.register(1, registration(key.token(), topic="com.example.other.voip"))
            # It counts all the same: the operator may add a team for it.
            assert answer.reason == 0 and "no team" in answer.words, answer
            answer = link.register(1, *(registration(key.token()) for _ in range(201)))
            assert answer.reason in (0x95, 0x97), answer
            answer = link.register(1, registration(key.token(), "00000001"), registration(key.token(), "00000001"))
            assert answer.reason == 0x99
            assert link.publish({"op": "unpair"}, topic=owner.up).reason == 0x87
        assert owner.register(2).reason == 0
        # A token that has ended belongs to its device for ever, and does not come back.
        with site.link(key) as link:
            assert link.register(1, registration(token)).reason == 0x87
        assert owner.register(3, registration(token)).reason == 0x99
        assert owner.register(1).reason == 0x99
    site.ring()


def test_a_token_that_is_not_bound_to_its_device_is_no_token(site: Site, key: DeviceKey) -> None:
    """Whoever registers the hash of a token that was made for another device gets nothing of it."""
    token = DeviceKey.make().token()
    with site.link(key) as link:
        assert link.subscribe().reasons == [1]
        assert link.register(1, registration(token)).reason == 0
        assert send(site.gateway, token, str(uuid.uuid4())).status == 400
        link.send(packet(PINGREQ))
        assert link.receive().kind == mqtt.PINGRESP


# Connections for pairing, and probes


def test_a_device_that_pairs_can_do_nothing_else(site: Site) -> None:
    stranger = DeviceKey.make()

    def pairing(act: Callable[[Link], None]) -> Packet:
        with Link(site.address, stranger) as link:
            assert link.connect(pair=1).reason == 0
            act(link)
            return link.rest()[-1]

    with Link(site.address, stranger) as link:
        assert link.connect(pair=1).reason == 0
        link.send(down(stranger))
        assert link.wait_for(SUBACK).reasons == [0x87]
        answer = link.publish({"op": "registrations", "revision": 1, "registrations": []})
        assert answer.reason == 0x87
        assert [(one.kind, one.reason) for one in link.rest()] == [(DISCONNECT, 0)]
    last = pairing(lambda link: link.send(up(stranger, bytes(1100))))
    assert (last.kind, last.reason) == (DISCONNECT, 0x95)
    last = pairing(lambda link: link.send(up(stranger, bytes(20000))))
    assert (last.kind, last.reason) == (DISCONNECT, 0x95)
    assert stranger.id not in str(site.gateway.control.get("/v1/gateway/devices"))


def test_a_probe_takes_nothing_over_and_gets_nothing(site: Site, key: DeviceKey) -> None:
    with site.link(key) as link, Link(site.address, key) as probe:
        assert probe.connect(probe=1).reason == 0
        # The link has not been idle yet, so there is nothing to try. When there may be is said.
        [end] = probe.rest()
        assert (end.kind, end.reason, end.words) == (DISCONNECT, 0, "no probe is due")
        assert end.user == {"keepalive": "240", "keepalive-longest": "900", "probe": "1500"}
        link.send(packet(PINGREQ))
        assert link.receive().kind == mqtt.PINGRESP


def test_no_reason_strings_for_a_device_that_wants_none(site: Site, key: DeviceKey) -> None:
    with Link(site.address, key) as link:
        assert link.connect((REQUEST_PROBLEMS, 0), revision=0).reason == 0
        answer = link.publish(b"[]")
        assert (answer.reason, answer.properties) == (0x99, {})


# Devices that do not settle


def test_a_device_that_never_acknowledges_holds_up_only_itself(site: Site, key: DeviceKey) -> None:
    token = key.token()
    with site.link(key) as link:
        assert link.subscribe().reasons == [1]
        assert link.register(1, registration(token)).reason == 0
        answers = Counter(send(site.gateway, token, str(uuid.uuid4())).status for _ in range(25))
        assert answers == {200: 20, 429: 5}
        site.ring()
        # Of one registration one push is on its way.
        assert link.wait_for(PUBLISH).user["id"]
        link.send(packet(PINGREQ))
        assert link.receive().kind == mqtt.PINGRESP


def test_acknowledgements_twice_and_of_every_code(site: Site, key: DeviceKey) -> None:
    tokens = {code: key.token() for code in (0x00, 0x10, 0x80, 0x83, 0x87, 0x91, 0x97, 0x99)}
    with site.link(key) as link:
        assert link.subscribe().reasons == [1]
        assert link.register(1, *map(registration, tokens.values())).reason == 0
        for code, token in tokens.items():
            with pushed(site, token) as answer:
                push = link.wait_for(PUBLISH)
                link.send(puback_packet(push.packet_id, code))
            assert answer() == (503 if code == 0x99 else 200), hex(code)
        link.send(puback_packet(push.packet_id))
        assert [(one.kind, one.reason) for one in link.rest()] == [(DISCONNECT, 0x82)]
    site.ring()


# Keys


@pytest.mark.parametrize("what", ["no key", "another curve"])
def test_a_sealing_key_that_seals_nothing_is_refused(site: Site, what: str) -> None:
    """Or each push for the device is answered 503 while it is away."""
    key = DeviceKey.make()
    other = ec.generate_private_key(ec.SECP384R1()).public_key()
    sealing = b"garbage" if what == "no key" else other.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    code = invitation(site.gateway)["code"]
    sealed = {name: base64.b64encode(data).decode() for name, data in
              (("sealing", sealing), ("signature", key.sign(b"ringwake sealing 1" + sealing)))}  # fmt: skip
    with Link(site.address, key) as link:
        assert link.connect(pair=1).reason == 0
        assert link.publish({"op": "pair", "code": code} | sealed).reason == 0x99


@pytest.mark.parametrize("make", [
    lambda: ec.generate_private_key(ec.SECP384R1()), lambda: rsa.generate_private_key(65537, 2048),
], ids=["P-384", "RSA"])  # fmt: skip
def test_a_key_that_is_not_on_p256_is_no_devices(site: Site, make: Callable, tmp_path: Path) -> None:
    made = make()
    public = made.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    name = base64.b32encode(hashlib.sha256(public).digest()).decode().lower().rstrip("=")
    pem = tmp_path / "key.pem"
    pem.write_bytes(mqtt.private_pem(made) + mqtt.certificate(made))
    with Link(site.address, DeviceKey(made, public, name, pem)) as link:
        assert link.connect(pair=1).reason == 0x87
