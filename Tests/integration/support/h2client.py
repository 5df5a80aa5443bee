"""A small HTTP/2 client that shows single frames, on the h2 library."""

import json
import socket
import ssl
import uuid
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events
import h2.settings

from .credentials import TOPIC

# How long the daemon may take for an answer, in seconds.
ANSWER_TIMEOUT = 60
AUTHORITY = "localhost"


@dataclass
class Answer:
    """What came back on one stream."""

    status: int = 0
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    # `headers`, `headers+end`, `data`, `data+end`, `end`, `reset`: the shape that clients trip over.
    frames: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        return bool(self.frames) and (self.frames[-1].endswith("end") or self.frames[-1] == "reset")

    @property
    def reason(self) -> str | None:
        return json.loads(self.body)["reason"] if self.body else None


class H2Client:
    """One connection. Use as `with H2Client(...) as client: client.push(token)`."""

    def __init__(
        self, address: tuple[str, int], context: ssl.SSLContext, session: ssl.SSLSession | None = None,
        name: str = AUTHORITY,
    ):  # fmt: skip
        """`name` is the one that the server's certificate has to be for."""
        plain = socket.create_connection(address, timeout=ANSWER_TIMEOUT)
        self.socket = context.wrap_socket(plain, server_hostname=name, session=session)
        # Bad requests are a test's business, so nothing is checked or mended on the way out.
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(
                client_side=True, validate_outbound_headers=False, normalize_outbound_headers=False
            )
        )
        self.answers: dict[int, Answer] = {}
        self.goaway: h2.events.ConnectionTerminated | None = None
        self.is_closed = False
        self.settings: dict[int, int] = {}
        self.h2.initiate_connection()
        self.flush()

    def __enter__(self) -> "H2Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def flush(self) -> None:
        self.socket.sendall(self.h2.data_to_send())

    def send(self, fields: list[tuple[str, str]], body: bytes | None = b"{}", end: bool = True) -> int:
        """Sends a request and answers its stream."""
        stream = self.h2.get_next_available_stream_id()
        self.answers[stream] = Answer()
        self.h2.send_headers(stream, fields, end_stream=end and body is None)
        if body is not None:
            while len(body) > self.h2.max_outbound_frame_size:
                self._wait_for_window(stream, self.h2.max_outbound_frame_size)
                self.h2.send_data(stream, body[: self.h2.max_outbound_frame_size])
                body = body[self.h2.max_outbound_frame_size :]
                self.flush()
            self._wait_for_window(stream, len(body))
            self.h2.send_data(stream, body, end_stream=end)
        self.flush()
        return stream

    def _wait_for_window(self, stream: int, size: int) -> None:
        while self.h2.local_flow_control_window(stream) < size and not self.is_closed:
            self.flush()
            self.receive()

    def receive(self) -> None:
        """Takes in what the daemon sends next."""
        data = self.socket.recv(65536)
        if not data:
            self.is_closed = True
            return
        for event in self.h2.receive_data(data):
            self._note(event)
        self.flush()

    def _note(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.ResponseReceived(stream_id=stream, headers=headers, stream_ended=ended):
                fields = {_text(name): _text(value) for name, value in headers}
                answer = self.answers[stream]
                answer.status, answer.fields = int(fields.pop(":status")), fields
                answer.frames.append("headers+end" if ended else "headers")
            case h2.events.DataReceived(stream_id=stream, data=data, stream_ended=ended):
                self.answers[stream].body += data
                self.answers[stream].frames.append("data+end" if ended else "data")
                self.h2.acknowledge_received_data(event.flow_controlled_length, stream)
            case h2.events.StreamReset(stream_id=stream):
                self.answers[stream].frames.append("reset")
            case h2.events.ConnectionTerminated():
                self.goaway = event
            case h2.events.RemoteSettingsChanged(changed_settings=changed):
                self.settings |= {int(code): setting.new_value for code, setting in changed.items()}

    def wait(self, stream: int) -> Answer:
        """The whole answer on a stream."""
        answer = self.answers[stream]
        while not answer.is_complete:
            assert not self.is_closed, f"closed without an answer on stream {stream}; GOAWAY: {self.goaway}"
            self.receive()
        return answer

    def request(self, fields: list[tuple[str, str]], body: bytes | None = b"{}") -> Answer:
        return self.wait(self.send(fields, body))

    def push(self, token: str, body: bytes = b"{}", **fields: str) -> Answer:
        """A VoIP push; named fields replace or add, `apns_id="..."`."""
        return self.request(push_fields(token, **fields), body)

    def wait_for_close(self) -> None:
        """Reads until the daemon closes."""
        while not self.is_closed:
            try:
                self.receive()
            except (ConnectionResetError, ssl.SSLError, BrokenPipeError):
                self.is_closed = True


def push_fields(token: str, authority: str | None = AUTHORITY, path: str | None = None, **fields: str) -> list:
    """The fields of a proper VoIP push."""
    pseudo = [(":method", "POST"), (":scheme", "https"), (":path", path or f"/3/device/{token}")]
    if authority is not None:
        pseudo.append((":authority", authority))
    named = {"apns_topic": TOPIC, "apns_push_type": "voip", "apns_id": str(uuid.uuid4())} | fields
    return pseudo + [(name.replace("_", "-"), value) for name, value in named.items()]


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
