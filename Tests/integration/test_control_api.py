"""The control API is what Documentation/control-api.yaml says: frozen messages, and a fuzzer that nobody here wrote."""

import copy
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from openapi_spec_validator import validate

from support import api
from support.bridge import Bridge
from support.control import UnixConnection
from support.daemon import Daemon
from support.programs import ROOT
from support.pushing import start_call

# An app that the fuzzer may remove.
SPARE = "com.example.spare"

CHECKS = [
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
    "negative_data_rejection",
]  # fmt: skip

# It takes a fifth of this on an idle machine, in seconds.
FUZZ_TIMEOUT = 300


def test_the_description_is_valid() -> None:
    validate(api.description())


@pytest.mark.parametrize("file", api.fixtures(), ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_each_frozen_message_fits_its_schema(file: Path) -> None:
    text = file.read_text()
    assert text.endswith("}\n") and text.count("\n") == 1
    api.check(json.loads(text), file.parent.name)


def test_each_message_is_frozen() -> None:
    bodies = {
        "CallReport", "ActionResult", "CallEnding", "CallAnswer", "CallDigits", "CallMerge", "CallStart",
        "DoNotDisturbChange",
        "CallerListCreation", "CallerListChange", "ImportFinish", "AudioConfigurationBody",
        "AudioSessionOpening", "AudioRouteChoice", "AudioSpeakerOverride", "LinkPairing", "DeviceMove",
        "IdentityReset", "StoreCopyLine", "ProtectionClassChoice", "ProtectionPassphrase", "ProtectionUnlock",
    }  # fmt: skip
    messages = {name for name in api.description()["components"]["schemas"] if name.endswith("Message")} | bodies
    # A message of WaitingMessage's; it is frozen there.
    messages.remove("WakeMessage")
    assert {file.parent.name for file in api.fixtures()} == messages


# What a request's body holds further is passed over, so these are the answers alone.
@pytest.mark.parametrize(
    "file", [file for file in api.fixtures() if file.parent.name.endswith("Message")],
    ids=lambda file: f"{file.parent.name}/{file.stem}",
)  # fmt: skip
def test_an_answer_with_a_further_member_does_not_fit(file: Path) -> None:
    with pytest.raises(AssertionError, match="surprise"):
        api.check(json.loads(file.read_text()) | {"surprise": 1}, file.parent.name)


def test_the_codes_are_those_of_the_error_page() -> None:
    page = (ROOT / "Documentation" / "errors.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| \d+ \| \d+ \|", page, re.MULTILINE)
    assert api.description()["components"]["schemas"]["ErrorMessage"]["properties"]["error"]["enum"] == rows


def test_every_verb_is_described(daemon: Daemon) -> None:
    call, _ = start_call(daemon)
    status, answer = daemon.control.request("POST", f"/v1/calls/{call}/dance")
    assert status == 404
    verbs = re.search("takes (.*), not 'dance'", answer["message"])[1].split(", ")
    prefix = "/v1/calls/{call}/"
    described = [path.removeprefix(prefix) for path in api.description()["paths"] if path.startswith(prefix)]
    assert sorted(described) == sorted(verbs)


@pytest.fixture
def lively(make_daemon) -> Daemon:
    """A daemon with calls in several states, which have time."""
    daemon = make_daemon()
    # Handlers do nothing: what waits for them must not wait for longer than the fuzzer does.
    daemon.calls = {"report": "10m", "ring": "10m", "action": "3s"}
    daemon.settings["team.topics"] = ["com.example.phone.voip", SPARE + ".voip"]
    daemon.add_app()
    daemon.add_app(app=SPARE)
    return daemon.start()


def fuzz(daemon: Daemon, description: dict, *options: str) -> subprocess.CompletedProcess:
    """Runs the fuzzer with this description of the API, always with the same cases."""
    file = daemon.directory / "api.yaml"
    file.write_text(yaml.safe_dump(description))
    with Bridge(daemon.control_socket) as bridge:
        return subprocess.run(
            [
                Path(sys.executable).parent / "schemathesis", "run", file, "--url", bridge.url,
                "--checks", ",".join(CHECKS), "--mode", "all", "--phases", "examples,coverage,fuzzing",
                "--generation-deterministic", "--no-shrink", "--max-failures", "5", "--warnings", "off", *options,
            ],
            cwd=daemon.directory, capture_output=True, text=True, timeout=FUZZ_TIMEOUT,
        )  # fmt: skip


def knowing(calls: list[str]) -> dict:
    """The description, with ids of things that there are in the place of all ids."""
    description = copy.deepcopy(api.description())
    parameters = description["components"]["parameters"]
    parameters["Call"] |= {"schema": {"type": "string", "enum": [*calls, "none"]}, "example": calls[0]}
    parameters["AppInPath"]["example"] = SPARE
    # A call that it begins as "0" would be found where it asks for the call 0, which is no text.
    del description["components"]["schemas"]["CallStart"]["properties"]["call"]
    # Made-up names would be looked up for as long as name servers are silent, and a watch does not end.
    for path in ("/v1/path", "/v1/reachability"):
        operation = description["paths"][path]["get"]
        operation["parameters"] = [one for one in operation["parameters"] if "$ref" not in one]
        for target in operation["parameters"]:
            target["schema"]["items"] = {"type": "string", "enum": ["any", "127.0.0.1", "::1,::1", "localhost", ""]}
            target["example"] = ["any", "127.0.0.1"]
    [push] = [one for one in description["paths"]["/v1/pushes/{pushId}"]["get"]["parameters"] if "name" in one]
    push |= {"schema": {"type": "string", "enum": [*calls, "none"]}, "example": calls[0].upper()}
    return description


def test_a_fuzzer_finds_no_answer_that_is_not_described(lively: Daemon) -> None:
    calls = [start_call(lively)[0] for _ in range(6)]
    for call in calls[1:]:
        lively.control.verb(call, "report")
    for call in calls[2:]:
        lively.control.verb(call, "ring")
    # One call after the other: those that go on are held for the next.
    for call, then in ((calls[5], "ended"), (calls[4], "hold")):
        lively.control.verb(call, "answer")
        lively.control.verb(call, "fulfill", action="answer")
        lively.control.verb(call, then)
    lively.control.verb(calls[4], "fulfill", action="hold")
    lively.control.verb(calls[3], "answer")
    streams = [
        "--exclude-path", "/v1/events", "--exclude-path", "/v1/apps/{app}/handler",
        "--exclude-operation-id", "openAudioSession", "--exclude-operation-id", "copyStore",
        # It ends the connections of the others.
        "--exclude-operation-id", "restart",
        # Without a gateway each answer is 502.
        "--exclude-operation-id", "pairLink",
    ]  # fmt: skip
    done = fuzz(lively, knowing(calls), *streams, "--max-examples", "10")
    assert done.returncode == 0, done.stdout + done.stderr
    cases = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert cases and cases[1] == cases[2] and int(cases[1]) > 500, done.stdout
    lively.check_alive()


@pytest.mark.parametrize(
    ("path", "damage"),
    [
        ("/v1/status", lambda schemas: schemas["StatusMessage"]["properties"].pop("serverCertificate")),
        ("/v1/apps", lambda schemas: schemas["AppMessage"]["properties"]["file"].update(type="integer")),
    ],
    ids=["a member too many", "another type"],
)
def test_the_fuzzer_sees_an_answer_that_is_not_described(daemon: Daemon, path: str, damage) -> None:
    description = copy.deepcopy(api.description())
    damage(description["components"]["schemas"])
    done = fuzz(daemon, description, "--include-path", path, "--max-examples", "2")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Response violates schema" in done.stdout


@pytest.mark.parametrize(
    "target",
    [
        "/v1/calls?limit=0", "/v1/calls?limit=501", "/v1/calls?limit=ten", "/v1/calls?limit=", "/v1/calls?limit=%2B5",
        "/v1/calls?before=0", "/v1/calls?before=9223372036854775808", "/v1/calls?missed=1", "/v1/calls?misssed=true",
        "/v1/pushes?state=missed", "/v1/pushes?app=", "/v1/pushes?app=a..b", "/v1/status?verbose=1",
        "/v1/events?application=a.b", "/v1/calls/none?call=c", "/v1/apps?app=a.b", "/v1/path?target=any",
        "/v1/path?watch=1", "/v1/reachability?watch=yes", "/v1/reachability?targets=any",
        "/v1/reachability?target=a:b:c",
    ],
)  # fmt: skip
def test_a_parameter_that_makes_no_sense_is_refused(daemon: Daemon, target: str) -> None:
    status, answer = daemon.control.request("GET", target)
    assert (status, answer["error"]) == (400, "invalid-request")
    api.check(answer, "ErrorMessage")


@pytest.mark.parametrize("target", ["/v1/calls/%", "/v1/calls/%ff", "/v1/calls/%zz/report", "/v1/calls?app=%c3"])
def test_an_escape_that_is_none_is_named(daemon: Daemon, target: str) -> None:
    status, answer = daemon.control.request("GET", target)
    assert (status, answer["error"]) == (400, "invalid-request")
    assert "'%'" in answer["message"] and "UTF-8" in answer["message"]


@pytest.mark.parametrize(
    ("verb", "body", "says"),
    [
        ("fulfill", b"", "it is empty"), ("fulfill", b"{}", "'action' is missing"),
        ("report", b"[]", "another kind"), ("report", b'{"caller":7}', "'caller' has to be a text"),
        ("report", b'{"caller":"a",}', "byte 14"), ("report", b"\xef\xbb\xbf{}", "byte 0"),
        ("report", '{"caller":"a"}'.encode("utf-16-le"), "byte 1"), ("ended", b'{"reason":"\xff"}', "not UTF-8"),
    ],
)  # fmt: skip
def test_a_body_that_does_not_fit_is_explained(daemon: Daemon, verb: str, body: bytes, says: str) -> None:
    call, _ = start_call(daemon)
    connection = UnixConnection(daemon.control_socket)
    connection.request("POST", f"/v1/calls/{call}/{verb}", body)
    answer = connection.getresponse()
    message = json.loads(answer.read())
    connection.close()
    assert (answer.status, message["error"]) == (400, "invalid-request")
    assert says in message["message"], message
    assert "Decoding" not in message["message"], "no words of the library's own"
    assert daemon.control.call(call)["state"] == "woken"


PAIRING = {"host": "127.0.0.1", "port": 1, "code": "AB-1234-5678"}


@pytest.mark.parametrize(
    ("change", "status", "error", "says"),
    [
        ({"code": None}, 400, "invalid-request", "'code'"), ({"port": 65536}, 400, "invalid-request", ""),
        ({"host": ""}, 400, "invalid-request", "neither a name nor an address"),
        ({"code": "AB-1234"}, 400, "invalid-request", "no code of an invitation"),
        ({"pin": "0f"}, 400, "bad-credential", "64 digits"),
        ({"authorities": "none"}, 400, "bad-credential", ""),
        ({"pin": "0f" * 32, "authorities": "none"}, 400, "invalid-request", "not both"),
        ({}, 502, "unreachable", "Connection refused"),
    ],
)  # fmt: skip
def test_a_pairing_that_cannot_be_is_explained(daemon: Daemon, change: dict, status: int, error: str, says: str) -> None:
    answer = daemon.control.request("POST", "/v1/link", {**PAIRING, **change})
    assert (answer[0], answer[1]["error"]) == (status, error), answer
    assert says in answer[1]["message"], answer
    api.check(answer[1], "ErrorMessage")


def test_an_answer_below_the_api_is_written_as_those_of_the_api(daemon: Daemon) -> None:
    connection = UnixConnection(daemon.control_socket)
    connection.request("POST", "/v1/reload", iter([b"{}"]), encode_chunked=True)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == 501
    api.check(json.loads(text), "ErrorMessage")
    assert list(json.loads(text)) == ["error", "message", "schema"]


def test_the_statuses_below_the_api_are_described() -> None:
    page = (ROOT / "Documentation" / "errors.md").read_text()
    sources = [file for module in ("HTTP1", "HTTPServer") for file in (ROOT / "Sources" / module).rglob("*.swift")]
    found = {status for file in sources for status in re.findall(r"\bstatus: (\d{3})\b", file.read_text())}
    # 400 is described with the API's own errors; 502 is what a client calls an answer that is none.
    given = sorted(found - {"400", "502"})
    assert len(given) > 5 and re.findall(r"^\| (\d{3}) \|", page, re.MULTILINE) == given
    for status in given:
        assert status in api.description()["info"]["description"]
