"""A TCP port on the loopback that leads to a unix socket: for clients that know only TCP."""

import select
import socket
import threading
from pathlib import Path

# How long an idle connection is kept, in seconds.
IDLE_TIMEOUT = 30


class Bridge:
    """Passes bytes between a port of 127.0.0.1 and a unix socket. One thread for each connection; all end with it."""

    def __init__(self, path: Path):
        self.path = path
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.stopping = threading.Event()
        self.threads: list[threading.Thread] = []
        self.acceptor = threading.Thread(target=self._accept, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self) -> "Bridge":
        self.acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        # Closing alone does not wake a thread that waits in accept.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.acceptor.join(5)
        self.listener.close()
        for thread in self.threads:
            thread.join(5)
            assert not thread.is_alive(), "a connection of the bridge does not end"

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.threads = [thread for thread in self.threads if thread.is_alive()]
            thread = threading.Thread(target=self._pass_on, args=(client,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as daemon:
            daemon.settimeout(IDLE_TIMEOUT)
            client.settimeout(IDLE_TIMEOUT)
            try:
                daemon.connect(str(self.path))
                idle = 0.0
                while not self.stopping.is_set() and idle < IDLE_TIMEOUT:
                    ready, _, _ = select.select([client, daemon], [], [], 0.2)
                    idle = 0.0 if ready else idle + 0.2
                    for source in ready:
                        data = source.recv(65536)
                        if not data:
                            return
                        (daemon if source is client else client).sendall(data)
            except OSError:
                # One end broke the connection off: the other sees it closed.
                return
