"""A small web server for the lists that are imported: with an ETag, and with what else can happen."""

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Page:
    """One page: what is answered, and how."""

    body: bytes
    etag: str | None = None
    status: int = 200
    fields: dict[str, str] = field(default_factory=dict)
    # Close the connection after so many bytes of the body.
    cut: int | None = None


@dataclass(frozen=True)
class Asked:
    """One request."""

    path: str
    if_none_match: str | None
    status: int


class Pages:
    """Serves pages on a free port of the loopback, until the end of a `with`."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[Asked] = []
        outer = self

        class Answer(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:  # noqa: N802
                page = outer.pages.get(self.path, Page(b"not here\n", status=404))
                wanted = self.headers.get("If-None-Match")
                is_same = page.etag is not None and wanted == page.etag
                status = 304 if is_same else page.status
                outer.asked.append(Asked(self.path, wanted, status))
                self.send_response(status)
                if page.etag:
                    self.send_header("ETag", page.etag)
                for name, value in page.fields.items():
                    self.send_header(name, value)
                body = b"" if is_same else page.body
                if status != 304:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: page.cut])
                self.close_connection = page.cut is not None

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self) -> "Pages":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(5)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}{path}"
