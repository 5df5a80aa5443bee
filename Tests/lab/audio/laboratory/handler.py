"""A call handler as the daemon starts one: it reports its call, does what is asked, and stamps.

    handler.py FIFO

It writes lines to FIFO: `ringing CALL`, and `activated NANOSECONDS`, from just before the fulfilled answer is sent
until the event of the active session is read.
"""

import http.client
import json
import os
import socket
import sys
import time


class Connection(http.client.HTTPConnection):
    """HTTP on the control socket."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ["RINGWAKE_SOCKET"])


def main() -> None:
    fifo = os.open(sys.argv[1], os.O_WRONLY)
    push = json.load(sys.stdin)
    app, call = push["app"], push["call"]
    fields = {"Authorization": f"Bearer {os.environ['RINGWAKE_WAKE_SECRET']}"}
    stream, requests = Connection("localhost"), Connection("localhost")
    # The stream first: what happens between the report and its beginning would be missed.
    stream.request("GET", f"/v1/events?app={app}", None, fields)
    events = stream.getresponse()

    def begin(verb: str, body: dict) -> None:
        requests.request("POST", f"/v1/calls/{call}/{verb}?app={app}", json.dumps(body), fields)

    def say(verb: str, body: dict) -> None:
        begin(verb, body)
        requests.getresponse().read()

    say("report", {"caller": "sip:alice@example.com", "ring": True})
    start = 0
    while line := events.readline():
        now = time.monotonic_ns()
        event = json.loads(line)
        if event.get("call") != call:
            continue
        match event["event"], event.get("state"), event.get("action"):
            case "call", "ringing", _:
                os.write(fifo, f"ringing {call}\n".encode())
            case "action", _, "answer":
                start = time.monotonic_ns()
                begin("fulfill", {"action": "answer"})
            case "audioActivated", _, _:
                requests.getresponse().read()
                os.write(fifo, f"activated {now - start}\n".encode())
            case "action", _, action:
                say("fulfill", {"action": action})
            case "call", "ended", _:
                break


if __name__ == "__main__":
    main()
