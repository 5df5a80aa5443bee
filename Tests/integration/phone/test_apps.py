"""Apps at the command line: adding one for each way, what is shown of it, and what a SIP client needs."""

import json
import re

import pytest

from support import processes
from support.control import Control, Refused
from support.credentials import APP, TEAM, TOPIC
from support.programs import run
from support.telephone import PAYLOAD, ends, ringing, send, user


def add(daemon, *words: object, status: int = 0):
    return user(daemon, "app", "add", APP, *words, status=status)


def show(daemon) -> dict:
    return json.loads(user(daemon, "app", "show", APP, "--json").stdout)


@pytest.mark.parametrize(
    ("words", "way", "wake"),
    [
        (["--exec", "/bin/sleep", "--way", "exec", "--", "60"], "exec", "/bin/sleep 60"),
        (["--exec", "/bin/sleep", "--way", "unit", "--manager", "system", "--", "60"], "transient", "/bin/sleep 60"),
        (["--unit", "phone@.service", "--manager", "user"], "unit", "phone@.service"),
        (["--dbus", "org.example.Phone", "--bus", "session"], "dbus", "org.example.Phone"),
        (["--handler-socket", "/run/phone.sock"], "socket", "/run/phone.sock"),
        (["--connected"], "connected", ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_app_is_added_for_every_way(make_daemon, words: list[str], way: str, wake: str) -> None:
    daemon = make_daemon()
    daemon.start()
    add(daemon, *words)
    shown = show(daemon)
    assert shown["way"] == way and wake in shown["wake"], shown
    assert wake in user(daemon, "app", "show", APP).stdout
    # What was written is what a start reads.
    daemon.stop()
    assert daemon.run_to_its_end("--check-config").returncode == 0
    daemon.start()
    assert show(daemon)["way"] == way


def test_the_rules_of_its_calls_are_added_too(make_daemon) -> None:
    daemon = make_daemon()
    daemon.start()
    add(daemon, "--connected", "--ringer", "daemon", "--fallback", "ring", "--when-busy", "reject", "--level", "17",
        "--instances", "call")  # fmt: skip
    shown = show(daemon)
    assert (shown["level"], shown["instances"]) == (17, "call")
    text = (daemon.directory / "apps.d" / f"{APP}.toml").read_text()
    for line in ('ringer = "daemon"', 'fallback = "ring"', 'when_busy = "reject"', "level = 17"):
        assert line in text


@pytest.mark.parametrize(
    "words",
    [
        [], ["--exec", "/bin/true", "--unit", "x.service"], ["--dbus", "no name"], ["--unit", "no unit"],
        ["--handler-socket", "relative"], ["--connected", "--manager", "user"], ["--exec", "/no/such/program"],
        ["--dbus", "org.example.Phone", "--path", "relative"],
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_and_leaves_nothing(make_daemon, words: list[str]) -> None:
    daemon = make_daemon()
    daemon.start()
    done = daemon.ringwake("app", "add", APP, *words)
    assert done.returncode != 0 and done.stderr, done
    assert list((daemon.directory / "apps.d").iterdir()) == []
    assert daemon.control.request("GET", f"/v1/apps/{APP}")[0] == 404


def test_what_a_sip_client_puts_into_its_contact(phone) -> None:
    """RFC 8599: pn-provider, pn-param and pn-prid; for APNs the team and the topic, and the device token."""
    line = user(phone.daemon, "app", "show", APP, "--pn").stdout
    token = phone.daemon.device_token()
    assert line == f"pn-provider=apns;pn-param={TEAM}.{TOPIC};pn-prid={token}\n"
    # The characters of a URI parameter, RFC 3261 section 25.1, need no escape.
    assert re.fullmatch(r"[A-Za-z0-9.=;_~-]+\n", line)
    whole = json.loads(user(phone.daemon, "app", "show", APP, "--pn", "--json").stdout)
    assert (whole["pnProvider"], whole["pnParam"], whole["pnPrid"]) == ("apns", f"{TEAM}.{TOPIC}", token)
    assert TEAM in user(phone.daemon, "app", "show", APP, "--pn", "--team", TEAM).stdout
    assert "OTHER" in user(phone.daemon, "app", "show", APP, "--pn", "--team", "OTHER00001", status=5).stderr


def test_a_push_to_what_the_parameters_say_rings(phone) -> None:
    """A SIP server has nothing but them: topic and token."""
    line = user(phone.daemon, "app", "show", APP, "--pn").stdout.strip()
    parameters = dict(part.split("=", 1) for part in line.split(";"))
    topic = parameters["pn-param"].partition(".")[2]
    done = run(
        "curl", "--silent", "--show-error", "--http2", "--cacert", phone.daemon.credentials.ca,
        "--header", f"authorization: {phone.daemon.credentials.authorization()}", "--header", f"apns-topic: {topic}",
        "--header", "apns-push-type: voip", "--data", "{}", "--write-out", "%{http_code}",
        f"{phone.daemon.url}/3/device/{parameters['pn-prid']}",
    )  # fmt: skip
    assert done.stdout == "200", done
    phone.waits_for("woken")


def test_an_app_that_is_removed_takes_its_state_and_strikes_along(telephone, tmp_path) -> None:
    app = telephone().by_exec("wake!=exit:1", more=PAYLOAD + "[restoration]\nstate = true\n")
    app.daemon.start()
    (tmp_path / "blob").write_text("x")
    user(app.daemon, "app", "state", APP, "--put", tmp_path / "blob")
    ends(app.daemon, send(app.daemon), "handlerFailed")
    file = app.daemon.directory / "apps.d" / f"{APP}.toml"
    text = file.read_text()
    user(app.daemon, "app", "remove", APP)
    file.write_text(text)
    user(app.daemon, "reload")
    assert show(app.daemon)["strikes"]["count"] == 0
    assert app.daemon.control.request("GET", f"/v1/apps/{APP}/state")[0] == 404


def credentials(control) -> dict[str, str]:
    """The tokens that an app hands to its sender, by environment."""
    message = control.get(f"/v1/apps/{APP}/credentials")
    assert (message["app"], message["topic"], message["teams"]) == (APP, TOPIC, [TEAM])
    return {one["environment"]: one["token"] for one in message["credentials"]}


def test_a_handler_learns_what_to_hand_to_its_sender_and_when_it_is_void(phone) -> None:
    call = ringing(phone)
    pid = phone.daemon.control.call(call)["pid"]
    handler = Control(phone.daemon.control.path, processes.environment(pid)["RINGWAKE_WAKE_SECRET"])
    assert credentials(handler) == credentials(phone.daemon.control) == show(phone.daemon)["tokens"]
    with pytest.raises(Refused) as refused:
        handler.get("/v1/apps/com.example.other/credentials")
    assert refused.value.status == 403


def test_credentials_are_told_when_they_change(telephone) -> None:
    app = telephone().only_connected(more=PAYLOAD)
    app.daemon.start()
    control = app.daemon.control
    former = credentials(control)
    file = app.daemon.directory / "apps.d" / f"{APP}.toml"
    text = file.read_text()
    with control.events(f"?app={APP}") as lines:
        user(app.daemon, "reload")
        user(app.daemon, "app", "remove", APP)
        file.write_text(text)
        user(app.daemon, "reload")
        told = lines.until("credentials", valid=True)
    # A reload that changes nothing of them says nothing.
    assert [line["valid"] for line in told if line["event"] == "credentials"] == [False, True]
    assert set(credentials(control).values()).isdisjoint(former.values())
