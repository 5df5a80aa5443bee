"""An audio session over the control socket, as a client in any language holds one."""

import json
import queue
import threading
import time

from .control import Control, Refused, UnixConnection

NOTICE_TIMEOUT = 60


class AudioSession:
    """`POST /v1/audio/sessions`: a session that lives as long as this object's connection."""

    def __init__(self, control: Control, **opening: object) -> None:
        self.control = control
        self.connection = UnixConnection(control.path)
        fields = {"Authorization": f"Bearer {control.secret}"} if control.secret else {}
        self.connection.request("POST", "/v1/audio/sessions", json.dumps(opening), fields)
        self.answer = self.connection.getresponse()
        if self.answer.status != 200:
            message = json.loads(self.answer.read())
            self.connection.close()
            raise Refused(self.answer.status, message)
        # A test may have nothing to hear for a long time.
        self.connection.sock.settimeout(None)
        self.inbox: queue.Queue = queue.Queue()
        self.seen: list[dict] = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.id: int = self.waits_for("opened")["id"]

    def __enter__(self) -> "AudioSession":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        try:
            while line := self.answer.readline():
                self.inbox.put(json.loads(line))
        except (OSError, ValueError):
            # Closed under its hands.
            pass
        self.inbox.put(None)

    def close(self) -> None:
        """The client is gone, as one is that was killed."""
        # shutdown wakes the reader; close alone would leave the connection open in its hands.
        if self.connection.sock:
            try:
                self.connection.sock.shutdown(2)
            except OSError:
                pass
        self.reader.join(NOTICE_TIMEOUT)
        self.answer.close()
        self.connection.close()

    def waits_for(self, event: str, seconds: float = NOTICE_TIMEOUT, **members: object) -> dict:
        """The next notice of this kind; those before it are in `seen`."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                notice = self.inbox.get(timeout=left)
            except queue.Empty:
                break
            assert notice is not None, f"the stream ended; seen: {self.seen}"
            self.seen.append(notice)
            if notice["event"] == event and members.items() <= notice.items():
                return notice
        raise AssertionError(f"no {event} with {members} within {seconds} s; seen: {self.seen}")

    def ends(self, seconds: float = NOTICE_TIMEOUT) -> None:
        """Waits until the daemon has ended the stream."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                notice = self.inbox.get(timeout=left)
            except queue.Empty:
                break
            if notice is None:
                return
            self.seen.append(notice)
        raise AssertionError(f"the stream has not ended within {seconds} s; seen: {self.seen}")

    # What a client asks for

    @property
    def path(self) -> str:
        return f"/v1/audio/sessions/{self.id}"

    def activate(self) -> dict:
        return self.control.post(f"{self.path}/activate")

    def deactivate(self, notify_others: bool = True) -> dict:
        return self.control.post(f"{self.path}/deactivate?notifyOthers={str(notify_others).lower()}")

    def configure(self, **configuration: object) -> dict:
        status, answer = self.control.request("PUT", self.path, configuration)
        if status != 200:
            raise Refused(status, answer)
        return answer

    def state(self) -> str:
        [mine] = [one for one in self.control.get("/v1/audio/sessions")["sessions"] if one["id"] == self.id]
        return mine["state"]
