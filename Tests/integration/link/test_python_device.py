"""Examples/python-device, a device that Documentation/link.md was enough to write, as its README says to run it."""

import http.client
import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from h2.exceptions import ProtocolError
from support import programs
from support.credentials import APP
from support.daemon import Daemon
from support.links import devices, invitation, make_gateway, send
from support.waiting import until

DEVICE = programs.ROOT / "Examples" / "python-device" / "device.py"
PUSHES = 100
KILLS = 12
# What a sender sees of a gateway that is killed, on whichever connection.
DEAD = (OSError, AssertionError, http.client.HTTPException, ProtocolError, ValueError)


class PythonDevice:
    """A folder of the example, and its process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen | None = None
        self.out, self.err = folder / "stdout", folder / "stderr"
        self.started_at = 0
        folder.mkdir()

    def command(self, *arguments: object) -> list[str]:
        return [sys.executable, "-B", str(DEVICE), "--folder", str(self.folder / "state"), *map(str, arguments)]

    def do(self, *arguments: object) -> subprocess.CompletedProcess:
        return programs.run(*self.command(*arguments))

    def pair(self, gateway: Daemon) -> None:
        """Pairs by a code, and checks the gateway by its CA."""
        invited = invitation(gateway)
        done = self.do(
            "--gateway", invited["gateway"], "--ca", gateway.credentials.ca, "pair", invited["code"], "--name", "python"
        )
        assert done.returncode == 0, (done, gateway.log)

    def make_token(self) -> str:
        done = self.do("token", "--app", APP, "--environment", "development")
        assert done.returncode == 0, done
        return done.stdout.strip()

    def start(self) -> "PythonDevice":
        self.started_at = len(self.said)
        with self.out.open("ab") as out, self.err.open("ab") as err:
            self.process = subprocess.Popen(self.command("run"), stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        return self

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    @property
    def said(self) -> str:
        return self.err.read_text() if self.err.exists() else ""

    def wait_until_it_says(self, *words: str, seconds: float = 60) -> None:
        """Waits for one of `words` from the present process."""
        until(
            lambda: any(word in self.said[self.started_at :] for word in words),
            seconds, lambda: f"one of {words}; it said:\n{self.said}",
        )  # fmt: skip

    def wait_until_linked(self) -> None:
        """Linked, and the gateway has its registrations."""
        self.wait_until_it_says("linked\n", "accepted\n")

    @property
    def printed(self) -> list[dict]:
        """What it printed, but for a line that a kill cut off."""
        return [json.loads(line) for line in self.out.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def stored(self) -> list[tuple[str, bytes]]:
        """Id and payload of each push in its file."""
        with sqlite3.connect(self.folder / "state" / "device.db", timeout=60) as database:
            return database.execute("SELECT id, payload FROM push ORDER BY rowid").fetchall()

    def wait_for(self, push_id: str) -> bytes:
        until(lambda: push_id in dict(self.stored()), 60, lambda: f"{push_id}; it said:\n{self.said}")
        return dict(self.stored())[push_id]

    def forget_its_registration(self) -> None:
        """Leaves another slot and token under the same revision, as no device should."""
        database = sqlite3.connect(self.folder / "state" / "device.db", isolation_level=None)
        [[text]] = database.execute("SELECT json FROM state")
        state = json.loads(text)
        state["registrations"][0] |= {"slot": "00000001", "token": "ab" * 32}
        database.execute("UPDATE state SET json = ?", [json.dumps(state)])
        database.close()


@pytest.fixture
def gateway(make_daemon) -> Daemon:
    """A gateway that has the same port for links after each start."""
    gateway = make_gateway(make_daemon).start()
    address = gateway.control.get("/v1/gateway")["address"]
    gateway.sections["gateway"] = f'listen = "{address}"\naddress = "127.0.0.1"\n'
    gateway.write_configuration()
    return gateway


@pytest.fixture
def make_device(tmp_path: Path) -> Iterator[Callable[[], PythonDevice]]:
    made: list[PythonDevice] = []

    def make() -> PythonDevice:
        made.append(PythonDevice(tmp_path / f"device{len(made)}"))
        return made[-1]

    yield make
    for device in made:
        device.kill()
        print(f"--- standard error of {device.folder}\n{device.said}")


@pytest.fixture
def device(gateway: Daemon, make_device) -> PythonDevice:
    """A device that is paired, with a token, and doesn't run."""
    device = make_device()
    device.pair(gateway)
    return device


def test_the_link_is_as_short_as_its_readme_says() -> None:
    text = DEVICE.read_text()
    assert len(text.splitlines()) < 150
    # Not by long lines either.
    assert max(len(line) for line in text.splitlines()) <= 120


def test_a_push_arrives(gateway: Daemon, device: PythonDevice) -> None:
    token = device.make_token()
    device.start().wait_until_linked()
    call = str(uuid.uuid4())
    assert send(gateway, token, call, b'{"aps":{},"greeting":"hello"}').status == 200
    assert device.wait_for(call) == b'{"aps":{},"greeting":"hello"}'
    [line] = until(lambda: device.printed, 10, "its line")
    assert (line["id"], line["payload"]) == (call, '{"aps":{},"greeting":"hello"}')
    assert 0 <= line["age"] < 60_000
    for file in (device.folder / "state").iterdir():
        assert file.stat().st_mode & 0o777 == 0o600, file


def test_a_link_with_a_pin_is_enough_to_pair(gateway: Daemon, make_device) -> None:
    device, link = make_device(), invitation(gateway)["link"]
    pin = link.split("pin=")[1]
    wrong = device.do("pair", link.replace(pin, "0" * 64), "--name", "python")
    assert wrong.returncode != 0 and "pin" in wrong.stderr and devices(gateway) == [], wrong
    done = device.do("pair", link, "--name", "python")
    assert done.returncode == 0, done
    token = device.make_token()
    device.start().wait_until_linked()
    call = str(uuid.uuid4())
    assert send(gateway, token, call).status == 200
    device.wait_for(call)


def test_a_wrong_code_is_refused_with_the_gateways_words(gateway: Daemon, make_device) -> None:
    code = invitation(gateway)["code"]
    address = gateway.control.get("/v1/gateway")["address"]
    other = code[:-1] + ("0" if code[-1] != "0" else "1")
    done = make_device().do("--gateway", address, "--ca", gateway.credentials.ca, "pair", other, "--name", "python")
    assert done.returncode == 1 and "the code is not valid" in done.stderr, done


def test_a_push_for_a_device_that_is_down_arrives_after_sealed(gateway: Daemon, device: PythonDevice) -> None:
    token = device.make_token()
    device.start().wait_until_linked()
    device.kill()
    call = str(uuid.uuid4())
    assert send(gateway, token, call, b'{"aps":{},"greeting":"hello"}').status == 200
    [listed] = devices(gateway)
    assert listed["sealed"] and listed["waiting"] == 1, listed
    gateway.kill()
    for file in (gateway.directory / "state").glob("store.*"):
        assert b"greeting" not in file.read_bytes(), file
    gateway.start()
    device.start()
    assert device.wait_for(call) == b'{"aps":{},"greeting":"hello"}'
    until(lambda: devices(gateway)[0]["waiting"] == 0, 10, lambda: f"{devices(gateway)}")


def test_an_unknown_slot_ends_in_410(gateway: Daemon, device: PythonDevice) -> None:
    token = device.make_token()
    device.start().wait_until_linked()
    device.kill()
    device.forget_its_registration()
    device.start().wait_until_linked()
    # On a busy machine the gateway answers before the device has (gateway.hold); its answer counts from then on.
    assert send(gateway, token, str(uuid.uuid4())).status in (200, 410)
    device.wait_until_it_says("unknown slot")
    until(lambda: send(gateway, token, str(uuid.uuid4())).status == 410, 10, lambda: gateway.log)
    assert send(gateway, token, str(uuid.uuid4())).reason == "Unregistered"
    assert "unknown slot" in device.said and device.stored() == []


def test_an_unknown_slot_of_a_push_that_waited_ends_in_410(gateway: Daemon, device: PythonDevice) -> None:
    token = device.make_token()
    device.start().wait_until_linked()
    device.kill()
    assert send(gateway, token, str(uuid.uuid4())).status == 200
    device.forget_its_registration()
    device.start().wait_until_it_says("unknown slot")
    device.wait_until_it_says("accepted\n")
    assert send(gateway, token, str(uuid.uuid4())).status == 410
    until(lambda: devices(gateway)[0]["waiting"] == 0, 10, lambda: f"{devices(gateway)}")
    assert device.stored() == []


def test_a_folder_that_is_an_old_copy_gets_the_next_revision(gateway: Daemon, device: PythonDevice) -> None:
    for _ in range(3):
        token = device.make_token()
    device.start().wait_until_linked()
    device.kill()
    database = sqlite3.connect(device.folder / "state" / "device.db", isolation_level=None)
    database.execute("UPDATE state SET json = json_set(json, '$.revision', 1)")
    database.close()
    device.start().wait_until_it_says("accepted\n")
    assert devices(gateway)[0]["revision"] == 4
    assert send(gateway, token, str(uuid.uuid4())).status == 200


def test_a_revoked_device_says_so(gateway: Daemon, device: PythonDevice) -> None:
    device.make_token()
    device.start().wait_until_linked()
    assert gateway.ringwake("gateway", "revoke", "python").returncode == 0
    device.wait_until_it_says("pair it again")
    device.kill()
    device.start().wait_until_it_says("pair it again")


class Sender(threading.Thread):
    """Sends pushes one after the other, each again until it is answered 200, as a sender that wants it delivered."""

    def __init__(self, gateway: Daemon, token: str) -> None:
        super().__init__(daemon=True)
        self.gateway, self.token = gateway, token
        self.pushes = {str(uuid.uuid4()): json.dumps({"aps": {}, "number": i}).encode() for i in range(PUSHES)}
        self.accepted: list[str] = []
        self.others: Counter = Counter()
        self.ended = threading.Event()

    def run(self) -> None:
        for push_id, payload in self.pushes.items():
            while not self.ended.is_set():
                try:
                    answer = send(self.gateway, self.token, push_id, payload)
                except DEAD as error:
                    self.others[type(error).__name__] += 1
                else:
                    if answer.status == 200:
                        self.accepted.append(push_id)
                        break
                    self.others[answer.status, answer.reason] += 1
                # Its mailbox is full, or the gateway is being started.
                time.sleep(0.02)


def test_what_was_answered_200_is_there_once_whoever_is_killed(gateway: Daemon, device: PythonDevice) -> None:
    seed = int(os.environ.get("RINGWAKE_TEST_SEED") or random.randrange(1 << 32))
    print(f"RINGWAKE_TEST_SEED={seed}")
    generator = random.Random(seed)
    token = device.make_token()
    device.start().wait_until_linked()
    sender = Sender(gateway, token)
    sender.start()
    try:
        for enough in sorted(generator.sample(range(PUSHES), KILLS)):
            until(lambda: len(sender.accepted) >= enough, 300, lambda: f"{enough}: {sender.others}\n{device.said}")  # noqa: B023
            # Anywhere in a push's way.
            time.sleep(generator.random() * 0.02)
            victim = generator.choice([device, gateway])
            victim.kill()
            victim.start()
        until(lambda: len(sender.accepted) == PUSHES, 300, lambda: f"all: {sender.others}\n{device.said}")
    finally:
        sender.ended.set()
        sender.join()
    print(sender.others)
    assert set(sender.others) <= {(429, "TooManyRequests")} | {error for error in sender.others if type(error) is str}
    until(lambda: len(device.stored()) >= PUSHES, 300, lambda: f"{len(device.stored())} of all; it said:\n{device.said}")
    until(lambda: devices(gateway)[0]["waiting"] == 0, 60, lambda: f"{devices(gateway)}")
    device.kill()
    assert sorted(device.stored()) == sorted(sender.pushes.items())
    assert max(Counter(line["id"] for line in device.printed).values()) == 1
