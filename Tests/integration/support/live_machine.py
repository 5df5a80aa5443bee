"""A machine that runs while the test goes on, so that a test can have several that talk to each other.

    with Namespace() as network, LiveMachine(root, network.name) as machine:
        machine.run("systemctl enable --now ringwaked")

Commands run one after the other, each as a script of its own.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from .machine import Boot, Root
from .waiting import until

# What a command on a machine, and a boot, may take on a machine that does other things. Seconds.
COMMAND_TIMEOUT = 300
FOLDER = "/var/lib/test-machine/live"
# A file appears under its name when it is whole.
SCRIPT = f"""\
mkdir -p {FOLDER} && cd {FOLDER} || exit
touch ready
until [ -e off ]; do
    if [ -e command ]; then
        mv command running
        bash running >output 2>&1 </dev/null
        echo $? >status.new && mv status.new status
    fi
    sleep 0.02
done
"""


class LiveMachine:
    """It is booted at the begin of `with`, and switched off at its end."""

    def __init__(self, root: Root, network: str, prelude: str = "") -> None:
        self.root = root
        self.network = network
        # What each script begins with.
        self.prelude = prelude
        self._pool = ThreadPoolExecutor(1)
        self._boot: Future[Boot] | None = None

    def __enter__(self) -> "LiveMachine":
        self._boot = self._pool.submit(self.root.boot, SCRIPT, network=self.network)
        try:
            until(lambda: self._file("ready").exists() or self._boot.done(), COMMAND_TIMEOUT, "the machine")
        except BaseException:
            self._switch_off()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        boot = self._switch_off()
        if not kind:
            assert boot.status == 0, boot.end

    def run(self, script: str, status: int = 0) -> str:
        """Runs a script, which has to end with this exit status; answers what it printed, on both streams."""
        self.root.write(f"{FOLDER}/command.new", self.prelude + script)
        self._file("command.new").rename(self._file("command"))
        done = lambda: self._file("status").exists() or self._boot.done()  # noqa: E731
        until(done, COMMAND_TIMEOUT, lambda: f"the end of:\n{script}\n{self._output}")
        assert not self._boot.done(), self._boot.result().end
        ended = int(self._file("status").read_text())
        self._file("status").unlink()
        assert ended == status, f"exit status {ended} of:\n{script}\n{self._output}"
        return self._output

    @property
    def _output(self) -> str:
        file = self._file("output")
        return file.read_text(errors="replace") if file.exists() else ""

    def _file(self, name: str) -> Path:
        return self.root.file(f"{FOLDER}/{name}")

    def _switch_off(self) -> Boot:
        self.root.write(f"{FOLDER}/off", "")
        try:
            return self._boot.result()
        finally:
            self._pool.shutdown()
