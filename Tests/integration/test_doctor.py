"""`ringwake doctor`: each fault is made for real, and named with what to do."""

import json
import os
import socket
import uuid
from pathlib import Path

import pytest

from support import ports
from support.apps import App
from support.buses import Bus
from support.control import EventStream
from support.credentials import APP
from support.daemon import Daemon
from support.doctor import doctor, tool
from support.netns import Namespace
from support.programs import as_nobody
from support.pushing import push, start_call
from support.waiting import until

PHONE = "org.example.Phone"
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become another user and to mount")


# The daemon works


def test_a_daemon_that_works_has_nothing_wrong(daemon: Daemon) -> None:
    report = doctor(daemon)
    assert report.bad() == []
    checks = {one["check"] for one in report.findings}
    assert checks >= {
        "configuration", "daemon", "certificates", "teams", "apps", "ports", "network", "clock", "store", "handlers",
        "bus", "awake", "strikes", "dnd", "pushes", "kernel",
    }  # fmt: skip
    if not [one for one in report.findings if one["state"] in ("warning", "problem")]:
        assert report.status == 0
    port = report.named("ports", "TLSv1.3, h2")
    assert port["state"] == "ok"
    assert report.named("ports", "loopback", "0.0.0.0:PORT")["state"] == "note"
    text = daemon.ringwake("doctor").stdout
    assert "ok       daemon         ringwaked 0.1.0 runs" in text
    # The look at the port is no push.
    assert daemon.control.status()["pushes"]["refused"] == {}
    daemon.check_alive()


def test_status_lists_what_the_kernel_offers(daemon: Daemon) -> None:
    done = daemon.ringwake("status", "--features", "--json")
    assert done.returncode == 0, done
    features = json.loads(done.stdout)["features"]
    assert {one["name"] for one in features} == {
        "pidfd", "memfd", "boottime-alarm", "inotify", "netlink", "socket-filter", "strict-netlink", "system-bus",
        "logind", "audio-server",
    }  # fmt: skip
    assert all(one["loss"] for one in features)
    assert "memfd           there\n" in daemon.ringwake("status", "--features").stdout


@needs_root
def test_a_facility_that_is_missing_is_named_with_what_is_lost(make_daemon) -> None:
    daemon = make_daemon(user=["setpriv", "--bounding-set=-wake_alarm", "--inh-caps=-wake_alarm", "--"])
    daemon.add_app()
    daemon.start()
    note = doctor(daemon).named("kernel", "no boottime-alarm", "do not wake a suspended machine")
    assert note["state"] == "note"


# The daemon does not run


def test_without_a_daemon_the_rest_is_checked(make_daemon, tmp_path: Path) -> None:
    daemon = make_daemon()
    daemon.add_app()
    daemon.write_configuration()
    report = doctor(daemon, env={"PATH": str(tmp_path)})
    assert report.status == 3
    report.problem("daemon", "no daemon runs")
    assert [one["check"] for one in report.bad()] == ["daemon"]
    assert report.named("handlers", "every handler is there")["state"] == "ok"


def test_a_port_that_another_process_holds_is_named(make_daemon) -> None:
    with socket.create_server(("127.0.0.1", ports.lease())) as other:
        daemon = make_daemon(address="127.0.0.1:%d" % other.getsockname()[1])
        daemon.add_app()
        daemon.write_configuration()
        doctor(daemon).problem("ports", f"another process holds {daemon.address}", "ss -ltnp")
    assert not any(one["check"] == "ports" for one in doctor(daemon).bad())


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ("ActiveState=failed\nResult=exit-code\nExecMainStatus=9",
         ["has failed (exit-code, exit status 9)", "the last line", "restart ringwaked"]),
        ("ActiveState=inactive\nResult=success\nExecMainStatus=0", ["does not run", "enable --now ringwaked"]),
        ("ActiveState=activating\nResult=success\nExecMainStatus=0", ["is activating", "nothing answers"]),
    ],
)  # fmt: skip
def test_a_unit_that_does_not_run_is_explained(make_daemon, tmp_path: Path, shown: str, words: list[str]) -> None:
    daemon = make_daemon()
    daemon.add_app()
    daemon.write_configuration()
    tool(tmp_path / "systemctl", f"LoadState=loaded\n{shown}\nUser=")
    tool(tmp_path / "journalctl", "the last line")
    report = doctor(daemon, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert report.status == 3
    report.problem("daemon", *words)


def test_a_systemd_that_hangs_is_not_waited_for(make_daemon, tmp_path: Path) -> None:
    daemon = make_daemon()
    daemon.add_app()
    daemon.write_configuration()
    (tmp_path / "systemctl").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "systemctl").chmod(0o755)
    assert doctor(daemon, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}).status == 3


def test_a_configuration_that_is_wrong_or_missing_decides_the_exit_status(make_daemon) -> None:
    daemon = make_daemon()
    report = doctor(daemon)
    assert report.status == 9
    report.problem("configuration", str(daemon.configuration), "ringwake setup")
    daemon.write_configuration(daemon.text() + "\n[nonsense]\n")
    report = doctor(daemon)
    assert report.status == 9
    report.problem("configuration", "nonsense")


@needs_root
def test_a_user_who_may_not_read_the_configuration_is_told_so(make_daemon) -> None:
    daemon = make_daemon()
    daemon.add_app()
    daemon.write_configuration()
    daemon.configuration.chmod(0o600)
    report = doctor(daemon, *as_nobody())
    assert report.status == 4
    report.problem("configuration", "may not read", "sudo")
    daemon.start()
    report = doctor(daemon, *as_nobody())
    assert report.named("configuration", "may not read")["state"] == "note"
    assert report.named("daemon", "runs")["state"] == "ok"


# Teams, apps, handlers


def test_nobody_may_send(make_daemon) -> None:
    daemon = make_daemon()
    daemon.add_app()
    daemon.settings["team.topics"] = ["com.example.other.voip"]
    daemon.start()
    doctor(daemon).problem("teams", f"no team may send to {APP}", f"{APP}.voip")
    text = daemon.text()
    daemon.write_configuration(text[: text.index("[[team]]")] + text[text.index("[calls]") :])
    assert daemon.ringwake("reload").returncode == 0
    doctor(daemon).problem("teams", "no team may send pushes", "team add")


def test_no_app_and_no_port(make_daemon) -> None:
    daemon = make_daemon()
    text = daemon.text()
    daemon.write_configuration(text[: text.index("[server]")] + text[text.index("[[team]]") :])
    daemon.start()
    report = doctor(daemon)
    report.problem("apps", "no app is configured", "app add")
    report.problem("ports", "listens on no port", "[[listener]]")


def test_handlers_that_cannot_start(daemon: Daemon, tmp_path: Path) -> None:
    path = tmp_path / "handler"
    daemon.set_handler([str(path)])
    assert doctor(daemon).problem("handlers", APP, f"there is no file {path}")
    path.write_text("#!/nonexistent/interpreter\n")
    doctor(daemon).problem("handlers", "is not executable")
    path.chmod(0o755)
    doctor(daemon).problem("handlers", "/nonexistent/interpreter", "install that")
    path.write_text("#!/bin/sh\n")
    assert doctor(daemon).bad() == []


def test_a_unit_that_systemd_does_not_know(daemon: Daemon, tmp_path: Path) -> None:
    (daemon.directory / "apps.d" / f"{APP}.toml").write_text('[wake]\nunit = "phone@.service"\n')
    tool(tmp_path / "systemctl", "LoadState=not-found")
    report = doctor(daemon, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    report.problem("handlers", "systemd knows no unit phone@.service", "daemon-reload")


def test_a_bus_name_that_nobody_owns_or_starts(make_daemon, session_bus: Bus) -> None:
    daemon = make_daemon()
    App(daemon).by_dbus(PHONE)
    daemon.variables |= session_bus.environment()
    daemon.start()
    doctor(daemon).problem("handlers", f"nobody owns {PHONE} on the session bus", ".service file")
    session_bus.activates(PHONE, ["/usr/bin/true"])
    assert doctor(daemon).bad() == []


@pytest.mark.parametrize("agent, state, words", [
    ("RingwakeKit/0.0.9 (actions; claim)", "note", ["RingwakeKit 0.0.9", "it lacks audio, credentials", "build the app"]),
    ("RingwakeKit/9.0.0 (teleport)", "warning", ["9.0.0", "the daemon lacks teleport", "upgrade ringwaked"]),
])  # fmt: skip
def test_a_handler_whose_kit_is_of_another_version(daemon: Daemon, agent: str, state: str, words: list[str]) -> None:
    with EventStream(daemon.control_socket, f"/v1/apps/{APP}/handler", {"User-Agent": agent}) as stream:
        greeting = next(iter(stream))
        assert greeting["version"] == daemon.control.status()["version"] and "claim" in greeting["features"]
        assert doctor(daemon).named("handlers", *words)["state"] == state
        assert words[0] in daemon.ringwake("app", "show", APP).stdout
    until(lambda: "kits" not in daemon.control.app(APP), 10, "the handler to be gone")
    assert doctor(daemon).bad() == []


@needs_root
def test_what_it_says_of_ports_holds_in_another_network(make_daemon) -> None:
    """One port for everybody and one for this machine, looked at by the doctor here, and used from elsewhere."""
    with Namespace() as here, Namespace() as elsewhere:
        here.veth("lan0", elsewhere, "lan1")
        here.ip("address", "add", "192.0.2.7/24", "dev", "lan0")
        elsewhere.ip("address", "add", "192.0.2.8/24", "dev", "lan1")
        daemon = make_daemon(address="0.0.0.0:0", user=here.command())
        daemon.add_app()
        daemon.write_configuration(
            daemon.text() + '[[listener]]\naddress = "127.0.0.1:0"\nenvironment = "production"\n'
        )
        daemon.start()
        report = doctor(daemon, *here.command())
        ports = {one["environment"]: one["address"].rpartition(":")[2] for one in daemon.control.status()["listeners"]}
        said = {
            "development": report.named("ports", "(development)", "only a firewall"),
            "production": report.named("ports", "(production)", "only this machine reaches it"),
        }
        for environment, port in ports.items():
            done = elsewhere.exec("curl", "-sk", "--max-time", "5", "-o", "/dev/null", f"https://192.0.2.7:{port}/")
            assert (done.returncode == 0) == (said[environment]["state"] == "ok"), (environment, done)


def test_a_ring_command_that_is_missing(daemon: Daemon) -> None:
    daemon.sections["ring"] = 'command = ["/nonexistent/player", "{file}"]\nringtone = "/nonexistent/tone.wav"'
    daemon.write_configuration()
    report = doctor(daemon)
    report.problem("ring", "'ring.command': /nonexistent/player", "there is no such file")
    report.problem("ring", "'ring.ringtone': /nonexistent/tone.wav")


def test_an_audio_program_that_is_missing(daemon: Daemon) -> None:
    daemon.sections["audio"] = 'backend = "program"\nprogram = "/nonexistent/ringwake-audio"'
    daemon.write_configuration()
    doctor(daemon).problem("audio", "/nonexistent/ringwake-audio", "players are not paused")


def test_an_app_that_is_struck_out(make_daemon) -> None:
    daemon = make_daemon()
    daemon.sections["strikes"] = "limit = 1"
    daemon.set_handler(["/bin/false"])
    daemon.start()
    assert push(daemon, str(uuid.uuid4())).status == 200
    until(lambda: daemon.control.status()["struckOut"] == [APP], 20, "the app to be struck out")
    doctor(daemon).problem("strikes", APP, "no longer started", f"ringwake app clear-strikes {APP}")
    daemon.set_handler(["/bin/true"])
    assert daemon.ringwake("app", "clear-strikes", APP).returncode == 0
    assert doctor(daemon).named("strikes", "no handler is struck out")["state"] == "ok"


# Calls


def test_do_not_disturb(daemon: Daemon) -> None:
    assert daemon.ringwake("dnd", "on").returncode == 0
    doctor(daemon).problem("dnd", "do not ring now", "ringwake dnd off")


def test_the_last_refused_push_is_named(daemon: Daemon) -> None:
    answer = push(daemon, str(uuid.uuid4()), apns_topic="com.example.other.voip")
    assert answer.status == 403, answer
    doctor(daemon).problem("pushes", answer.reason, "none accepted since")
    start_call(daemon)
    note = doctor(daemon).named("pushes", answer.reason, "1 accepted since")
    assert note["state"] == "note"


# The store


@needs_root
@pytest.mark.parametrize(
    ("options", "words"),
    [("size=2m", ["are free in"]), ("size=512k", ["KiB are free in", "no push is accepted"])],
    ids=["little room", "no room"],
)
def test_a_disk_that_is_nearly_full(make_daemon, options: str, words: list[str]) -> None:
    daemon = make_daemon()
    daemon.add_app()
    state = daemon.directory / "state"
    state.mkdir(mode=0o700)
    script = f'mount -t tmpfs -o mode=700,{options} none "{state}" && exec "$@"'
    daemon.user = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
    daemon.start()
    report = doctor(daemon, "nsenter", "--target", daemon.pid, "--mount", "--")
    report.problem("store", *words)


@needs_root
def test_a_disk_that_may_not_be_written(make_daemon) -> None:
    daemon = make_daemon()
    daemon.add_app()
    daemon.write_configuration()
    state = daemon.directory / "state"
    state.mkdir(mode=0o700)
    script = f'mount -t tmpfs -o ro none "{state}" && exec "$@"'
    report = doctor(daemon, "unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh")
    report.problem("store", "read-only file system", "state_directory")
    report.problem("store", str(state), "cannot write there")


@needs_root
def test_a_state_directory_of_somebody_else(make_daemon) -> None:
    daemon = make_daemon(user=as_nobody())
    daemon.add_app()
    daemon.write_configuration()
    (daemon.directory / "state").mkdir(mode=0o700)
    report = doctor(daemon, *as_nobody())
    report.problem("store", "cannot write there: Permission denied", "change its owner")
