"""While what a call changed is not undone yet, the status says so: whoever hangs, and whoever is gone."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from support import processes
from support.apps import App
from support.audio import AudioServer
from support.audio_streams import Stream
from support.daemon import Daemon
from support.telephone import PAYLOAD, connected, user
from support.waiting import until


@pytest.fixture
def phone(make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer) -> App:
    """The audio program leaves as soon as it is not needed."""
    app = App(make_audio_daemon(audio_server, 'linger = "0s"')).by_exec(more=PAYLOAD)
    app.daemon.start()
    return app


def status(phone: App) -> dict:
    return phone.daemon.control.get("/v1/audio")


def is_muted(server: AudioServer) -> bool:
    [microphone] = [source for source in server.list("sources") if source["name"] == "microphone"]
    return microphone["mute"]


def with_open_microphone(phone: App, server: AudioServer) -> str:
    """A call; the user had muted the microphone, which is open for the call."""
    server.pactl("set-source-mute", "microphone", 1)
    call = connected(phone)
    until(lambda: not is_muted(server), 10, "the microphone to be open")
    until(lambda: status(phone)["state"] == "connected", 10, "the call's audio")
    return call


@contextmanager
def stopped(*pids: int) -> Iterator[None]:
    for pid in pids:
        processes.stop(pid)
    try:
        yield
    finally:
        for pid in pids:
            # The daemon may have killed a program that hung.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def says_what_is_left(phone: App) -> None:
    until(
        lambda: (now := status(phone))["state"] == "restoring" and now["effects"] >= 1, 10,
        lambda: f"the status to say what is to be undone: {status(phone)}",
    )  # fmt: skip


def all_is_undone(phone: App, server: AudioServer) -> None:
    until(lambda: is_muted(server), 10, "the microphone to be muted again")
    until(
        lambda: (now := status(phone))["state"] == "idle" and now["effects"] == 0, 10,
        lambda: f"the status to say that nothing is left: {status(phone)}",
    )  # fmt: skip


def test_while_the_server_hangs_the_status_says_what_is_not_undone(phone: App, audio_server: AudioServer) -> None:
    call = with_open_microphone(phone, audio_server)
    program = status(phone)["pid"]
    with stopped(*(process.pid for process in audio_server.processes)):
        user(phone.daemon, "call", "end", call)
        says_what_is_left(phone)
        # The program gives up, and another one waits for the server.
        until(lambda: status(phone).get("pid") not in (None, program), 10, "another program")
        says_what_is_left(phone)
    all_is_undone(phone, audio_server)


def test_while_the_program_hangs_the_status_says_what_is_not_undone(phone: App, audio_server: AudioServer) -> None:
    call = with_open_microphone(phone, audio_server)
    with stopped(status(phone)["pid"]):
        user(phone.daemon, "call", "end", call)
        says_what_is_left(phone)
    all_is_undone(phone, audio_server)


def test_a_daemon_that_starts_while_the_server_hangs_says_what_an_earlier_one_left(
    phone: App, audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    plays("music", role="music")
    call = with_open_microphone(phone, audio_server)
    program = status(phone)["pid"]
    with stopped(*(process.pid for process in audio_server.processes)):
        # Neither may undo anything when the other one dies.
        processes.stop(phone.daemon.pid)
        os.kill(program, signal.SIGKILL)
        phone.daemon.kill()
        phone.daemon.start()
        until(lambda: phone.daemon.control.get("/v1/calls") is not None, 10, "the daemon")
        for left in phone.daemon.control.get("/v1/calls")["calls"]:
            if left["call"] == call and left["state"] != "ended":
                user(phone.daemon, "call", "end", call)
        says_what_is_left(phone)
    all_is_undone(phone, audio_server)
