"""What a recorded daemon told its peers: pushes that it answered 200, and calls that it said ring."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import hpack

from .recording import Entry, Kind, Stream, streams

# RFC 9113, sections 4.1, 6.2 and 6.10.
FRAME_HEADER = 9
HEADERS, CONTINUATION = 1, 9
END_HEADERS, PADDED, PRIORITY = 0x4, 0x8, 0x20


@dataclass(frozen=True)
class Promise:
    """Something that was said and has to be true from then on, whatever happens."""

    # The place in the record of the call that said it.
    time: int
    # The push's `apns-id` or the call's id, in lower case.
    name: str


def answered_pushes(entries: list[Entry]) -> list[Promise]:
    """The pushes that were answered 200, in the order of their answers."""
    found = []
    for stream in streams(entries, Kind.TLS):
        for time, fields in _header_blocks(stream):
            if fields.get(":status") == "200" and "apns-id" in fields:
                found.append(Promise(time, fields["apns-id"].lower()))
    return sorted(found, key=lambda promise: promise.time)


def announced_rings(entries: list[Entry]) -> list[Promise]:
    """The calls that the control socket said to be ringing, in an event or an answer; each for its first time."""
    first: dict[str, int] = {}
    for stream in streams(entries, Kind.CONTROL):
        for time, message in _objects(stream):
            for call in _ringing(message):
                first[call] = min(time, first.get(call, time))
    return sorted((Promise(time, call) for call, time in first.items()), key=lambda promise: promise.time)


def _header_blocks(stream: Stream) -> Iterator[tuple[int, dict[str, str]]]:
    """Each header block with the time at which its last byte left."""
    decoder = hpack.Decoder()
    data, place, block = stream.data, 0, b""
    while place + FRAME_HEADER <= len(data):
        length, kind, flags = int.from_bytes(data[place : place + 3], "big"), data[place + 3], data[place + 4]
        end = place + FRAME_HEADER + length
        if end > len(data):
            return
        body = bytes(data[place + FRAME_HEADER : end])
        place = end
        if kind not in (HEADERS, CONTINUATION):
            continue
        if kind == HEADERS:
            padding = body[0] if flags & PADDED else 0
            start = (1 if flags & PADDED else 0) + (5 if flags & PRIORITY else 0)
            body, block = body[start : len(body) - padding], b""
        block += body
        if flags & END_HEADERS:
            yield stream.time_of(end), dict(decoder.decode(block))


def _objects(stream: Stream) -> Iterator[tuple[int, dict]]:
    """Each JSON object with the time at which its last byte left; an unfinished one at the end is left out."""
    # Latin 1 keeps each byte a character, so that places stay the same; ids are ASCII.
    text, place = stream.data.decode("latin-1"), 0
    decoder = json.JSONDecoder()
    while (place := text.find("{", place)) >= 0:
        try:
            message, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError:
            return
        yield stream.time_of(place), message


def _ringing(message: object) -> Iterator[str]:
    """The ids of all calls in a message that ring."""
    if isinstance(message, dict):
        if message.get("state") == "ringing" and isinstance(message.get("call"), str):
            yield message["call"].lower()
        for value in message.values():
            yield from _ringing(value)
    elif isinstance(message, list):
        for value in message:
            yield from _ringing(value)
