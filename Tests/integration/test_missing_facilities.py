"""A kernel that lacks something: calls come all the same, and status and doctor say what is missing."""

import pytest

from support import processes
from support.control import Control
from support.native import Native
from support.pushing import push, start_call

FACILITIES = ["pidfd", "memfd", "boottime-alarm", "inotify", "netlink", "socket-filter", "strict-netlink"]


@pytest.mark.parametrize("facility", FACILITIES)
def test_a_call_comes_without_it(make_daemon, native: Native, facility: str) -> None:
    daemon = make_daemon(user=[str(native.folder / "without"), facility])
    daemon.add_app()
    daemon.start()
    features = {item["name"]: item for item in daemon.control.status()["facilities"]}
    assert not features[facility]["available"] and features[facility]["why"] and features[facility]["loss"]
    assert facility in daemon.ringwake("status", "--features").stdout
    for _ in range(2):
        call, wake = start_call(daemon)
        handler = Control(daemon.control_socket, wake.secret)
        handler.verb(call, "report", ring=True)
        assert daemon.control.call(call)["state"] == "ringing"
        daemon.control.post(f"/v1/calls/{call}/answer")
        handler.verb(call, "fulfill", action="answer")
        assert daemon.control.call(call)["state"] == "connected"
        # Its handler survives the daemon.
        daemon.kill()
        daemon.start()
        assert processes.is_running(wake.pid)
        # What was answered a moment before the kill may not have been recorded; the handler says it again.
        handler.verb(call, "fulfill", action="answer")
        assert daemon.control.call(call)["state"] == "connected"
        # The daemon notices that the handler is gone.
        daemon.recorders[0].clear_away()
        daemon.control.wait_for(call, "ended", seconds=40)
    daemon.check_alive()


def test_all_are_there_on_this_kernel(daemon) -> None:
    missing = {item["name"] for item in daemon.control.status()["facilities"] if not item["available"]}
    # Only who may wake a suspended machine has the clock for it.
    assert missing <= {"boottime-alarm"}
    assert push(daemon, "0f1c9a50-1111-4b5e-8a6b-d9b2f5a7c001").status == 200
