"""Handlers that cannot be started: the sender gets its 200, the call ends with the reason, the daemon goes on."""

import uuid
from pathlib import Path

import pytest

from support.daemon import Daemon
from support.handlers import script
from support.pushing import push
from support.waiting import until


def failed_call(daemon: Daemon) -> dict:
    call = str(uuid.uuid4())
    assert push(daemon, call).status == 200
    return daemon.control.wait_for(call, "ended")


def handler_file(daemon: Daemon, fault: str) -> Path:
    path = daemon.directory / "handler"
    match fault:
        case "missing":
            pass
        case "not executable":
            script(path, "#!/bin/sh\n", mode=0o644)
        case "a folder":
            path.mkdir()
        case "interpreter that is missing":
            script(path, "#!/no/such/interpreter\n")
        case "no program at all":
            path.write_bytes(b"\x7fELF" + bytes(100))
            path.chmod(0o755)
        case "empty":
            script(path, "")
        case "link to itself":
            path.symlink_to(path)
    return path


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("missing", "there is no file"),
        ("not executable", "chmod +x"),
        ("a folder", "directory"),
        ("interpreter that is missing", "interpreter"),
        ("no program at all", "first line"),
        ("empty", ""),
        ("link to itself", "symbolic links"),
    ],
)
def test_a_handler_that_cannot_be_started(make_daemon, fault: str, says: str) -> None:
    daemon = make_daemon()
    path = handler_file(daemon, fault)
    daemon.set_handler([str(path)])
    daemon.start()
    ended = failed_call(daemon)
    assert ended["reason"] == "handlerFailed"
    assert says in ended["detail"], ended["detail"]
    assert fault == "empty" or str(path) in ended["detail"]
    daemon.log_mentions(ended["call"])
    daemon.check_alive()
    # The same daemon wakes the handler once it is mended.
    if path.is_dir():
        path.rmdir()
    path.unlink(missing_ok=True)
    daemon.set_handler(daemon.add_app().exec)
    assert daemon.ringwake("reload").returncode == 0
    call = str(uuid.uuid4())
    assert push(daemon, call).status == 200
    daemon.recorders[0].wait(call)


def test_arguments_reach_the_handler_without_a_shell(make_daemon) -> None:
    daemon = make_daemon()
    arguments = ["two words", "$HOME", "`id`", "a;b|c&d", "*", '"quoted"', "Grüße", ""]
    output = daemon.directory / "arguments"
    handler = script(daemon.directory / "handler", f'#!/bin/sh\nprintf "%s\\n" "$@" >{output}.part\n'
                     f"mv {output}.part {output}\nsleep 60\n")  # fmt: skip
    daemon.set_handler([str(handler), *arguments])
    daemon.start()
    call = str(uuid.uuid4())
    push(daemon, call)
    until(output.exists, 10, "the handler to write its arguments")
    assert output.read_text().split("\n")[:-1] == arguments
    daemon.control.verb(call, "end")
    daemon.control.verb(call, "fulfill", action="end")


def test_a_handler_that_does_not_read_does_not_block_the_daemon(make_daemon) -> None:
    daemon = make_daemon()
    daemon.calls = {"report": "1s"}
    daemon.set_handler(["/bin/sleep", "60"])
    daemon.start()
    calls = [str(uuid.uuid4()) for _ in range(20)]
    for call in calls:
        assert push(daemon, call, b'{"x":"' + b"y" * 5000 + b'"}').status == 200
    for call in calls:
        assert daemon.control.wait_for(call, "ended")["reason"] == "handlerFailed"
    daemon.check_alive()


def test_a_handler_that_closes_its_stdin_at_once(make_daemon) -> None:
    daemon = make_daemon()
    daemon.set_handler(["/bin/sh", "-c", "exec <&-; exit 7"])
    daemon.start()
    for _ in range(10):
        assert "status 7" in failed_call(daemon)["detail"]
    daemon.check_alive()
