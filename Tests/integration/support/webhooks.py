"""A team's server that receipts are posted to, and the team that has it."""

import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from standardwebhooks import Webhook

from .credentials import TOPIC, Credentials
from .daemon import Daemon
from .links import send
from .waiting import until


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def verified(self, secret: str) -> dict:
        """The body, once a library that nobody here wrote has checked the signature."""
        return Webhook(secret).verify(self.body, self.headers)


class Receiver:
    """An HTTPS server that keeps what it gets; `answer` says with which status, headers and body, and may wait."""

    def __init__(self, credentials: Credentials, port: int = 0, answer: Callable = lambda request: (204, {}, b"")):
        self.requests: list[Request] = []
        self.answer = answer
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.requests.append(Request(self.path, headers, body))
                status, fields, content = receiver.answer(receiver.requests[-1])
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                if status != 204:
                    self.send_header("content-length", str(len(content)))
                self.end_headers()
                try:
                    self.wfile.write(content)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            # The other end may leave at any time.
            handle_error = lambda *_: None  # noqa: E731

        self.server = Server(("127.0.0.1", port), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(credentials.server_certificate, credentials.server_key)
        # The handshake in the connection's own thread, not in the one that accepts.
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_port
        self.ca = credentials.ca
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}/receipts"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Team:
    """A team with a key of its own, and a webhook."""

    def __init__(self, daemon: Daemon, receiver: Receiver, directory: Path, id: str):
        self.id, self.receiver, self.daemon = id, receiver, daemon
        self.credentials = Credentials.make(directory / id, team=id)
        added = self.ringwake(
            "add", id, "--topic", TOPIC, "--key", self.credentials.token_key,
            "--webhook", receiver.url, "--webhook-ca", receiver.ca, "--json",
        )  # fmt: skip
        self.secret = json.loads(added)["webhookSecret"]

    def ringwake(self, *arguments: object, status: int = 0) -> str:
        done = self.daemon.ringwake("team", *arguments)
        assert done.returncode == status, done
        return done.stdout + done.stderr

    def authorization(self) -> str:
        return self.credentials.authorization(iss=self.id)

    def send(self, token: str, push_id: str, **options) -> None:
        answer = send(self.daemon, token, push_id, authorization=self.authorization(), **options)
        assert (answer.status, answer.reason) == (200, None), self.daemon.log

    def receipts(self, push_id: str) -> list[dict]:
        """All that was posted about a push, in order; the signature of each request is checked."""
        bodies = [request.verified(self.secret) for request in list(self.receiver.requests)]
        assert all(body["type"] == "push.receipts" for body in bodies)
        return [one for body in bodies for one in body["data"]["receipts"] if one["pushId"] == push_id]

    def wait(self, push_id: str, stage: str) -> dict:
        """The first receipt of a push that has reached this stage. Its state may be a later one: states that follow each
        other at once are told together."""

        def found() -> dict | None:
            return next((one for one in self.receipts(push_id) if stage in (hop["stage"] for hop in one["timeline"])), None)

        return until(found, 60, lambda: f"{stage}: {self.receipts(push_id)}; {self.status}\n{self.daemon.log}")

    @property
    def status(self) -> dict:
        return next(one for one in self.daemon.control.get("/v1/status")["webhooks"] if one["team"] == self.id)
