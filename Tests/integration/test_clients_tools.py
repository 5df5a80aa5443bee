"""curl, nghttp and h2load, as they come with the distribution."""

import re
import uuid
from pathlib import Path

import pytest

from support.credentials import APP, P12_PASSWORD, TOPIC
from support.daemon import Daemon
from support.handlers import Recorder
from support.programs import run


def curl(daemon: Daemon, auth: list[object], call: str, *options: object, token: str | None = None):
    return run(
        "curl", "--silent", "--show-error", "--http2", "--cacert", daemon.credentials.ca, *auth,
        "--header", f"apns-topic: {TOPIC}", "--header", "apns-push-type: voip", "--header", f"apns-id: {call}",
        "--data-binary", '{"by":"curl"}', "--write-out", "%{http_version} %{http_code} %header{apns-id}", *options,
        f"{daemon.url}/3/device/{token or daemon.device_token()}",
    )  # fmt: skip


def credential(daemon: Daemon, kind: str) -> list[object]:
    """curl's options for one of the three kinds of credential."""
    credentials = daemon.credentials
    return {
        "pem": ["--cert", credentials.provider_pem],
        "p12": ["--cert-type", "P12", "--cert", f"{credentials.provider_p12}:{P12_PASSWORD}"],
        "token": ["--header", f"authorization: {credentials.authorization()}"],
    }[kind]


@pytest.mark.parametrize("tls", ["1.2", "1.3"])
@pytest.mark.parametrize("kind", ["pem", "p12", "token"])
def test_curl(daemon: Daemon, handler: Recorder, kind: str, tls: str) -> None:
    call = str(uuid.uuid4())
    done = curl(daemon, credential(daemon, kind), call, f"--tlsv{tls}", "--tls-max", tls)
    assert done.stdout == f"2 200 {call}", done.stderr
    assert handler.wait(call).payload == b'{"by":"curl"}'


@pytest.mark.parametrize("host", ["api.push.apple.com", "api.sandbox.push.apple.com"])
def test_curl_reaches_it_under_apples_names(daemon: Daemon, handler: Recorder, host: str) -> None:
    call = str(uuid.uuid4())
    address, port = daemon.host_and_port
    done = run(
        "curl", "--silent", "--show-error", "--http2", "--cacert", daemon.credentials.ca,
        *credential(daemon, "pem"), "--connect-to", f"{host}:443:{address}:{port}", "--header", f"apns-id: {call}",
        "--data-binary", "{}", "--write-out", "%{http_code}", f"https://{host}/3/device/{daemon.device_token()}",
    )  # fmt: skip
    assert done.stdout == "200", done.stderr
    handler.wait(call)


def test_curl_over_http_1_is_told_so_in_tls(daemon: Daemon) -> None:
    done = curl(daemon, credential(daemon, "pem"), str(uuid.uuid4()), "--http1.1")
    assert done.returncode != 0
    assert "alert" in done.stderr, "no_application_protocol, RFC 7301 section 3.2"
    daemon.check_alive()


def test_a_refusal_reads_as_json(daemon: Daemon) -> None:
    done = curl(daemon, credential(daemon, "token"), str(uuid.uuid4()), token="00" * 32)
    assert done.stdout.startswith('{"reason":"BadDeviceToken"}2 400'), done


def test_nghttp_sees_one_headers_frame_with_end_stream(daemon: Daemon, handler: Recorder, tmp_path: Path) -> None:
    call = str(uuid.uuid4())
    answer = nghttp(daemon, tmp_path, call, daemon.device_token())
    assert ":status: 200" in answer, answer
    assert f"apns-id: {call}" in answer
    assert "recv DATA frame" not in answer
    assert re.search(r"recv HEADERS frame <[^>]*>\s*; END_STREAM \| END_HEADERS", answer), answer
    assert handler.wait(call).payload == b'{"by":"nghttp"}'


def test_nghttp_sees_a_refusal_in_one_data_frame_with_end_stream(daemon: Daemon, tmp_path: Path) -> None:
    answer = nghttp(daemon, tmp_path, str(uuid.uuid4()), "00" * 32)
    assert '{"reason":"BadDeviceToken"}' in answer
    frames = re.findall(r"recv DATA frame <([^>]*)>", answer)
    assert len(frames) == 1, answer
    assert "flags=0x01" in frames[0], "END_STREAM"


def nghttp(daemon: Daemon, folder: Path, call: str, token: str) -> str:
    """Sends a push with nghttp; every frame, as it prints them."""
    body = folder / "payload"
    body.write_bytes(b'{"by":"nghttp"}')
    credentials = daemon.credentials
    key = folder / "key.pem"
    key.write_bytes(credentials.provider_pem.read_bytes())
    done = run(
        "nghttp", "--verbose", f"--cert={credentials.provider_pem}",
        f"--key={key}", f"--data={body}", f"--header=apns-topic: {TOPIC}", f"--header=apns-id: {call}",
        f"{daemon.url}/3/device/{token}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)


def test_h2load_repeats_one_push_on_many_streams(daemon: Daemon, handler: Recorder, tmp_path: Path) -> None:
    call = str(uuid.uuid4())
    body = tmp_path / "payload"
    body.write_bytes(b"{}")
    done = run(
        "h2load", "--requests=2000", "--clients=4", "--max-concurrent-streams=32", f"--data={body}",
        f"--header=apns-topic: {TOPIC}", f"--header=apns-id: {call}",
        f"--header=authorization: {daemon.credentials.authorization()}",
        f"{daemon.url}/3/device/{daemon.device_token()}",
    )  # fmt: skip
    assert "2000 succeeded, 0 failed, 0 errored" in done.stdout, done.stdout
    assert "status codes: 2000 2xx" in done.stdout, done.stdout
    handler.wait(call)
    assert handler.count() == 1, "a repeated apns-id is one call"
    daemon.check_alive()


def test_a_sender_on_libcurl_keeps_its_connection_for_thousands_of_pushes(daemon: Daemon, handler: Recorder) -> None:
    """libcurl resets each stream after its answer; that is no attack."""
    call = str(uuid.uuid4())
    done = daemon.ringwake("push", "--app", APP, "--id", call, "--count", "2500")
    assert done.returncode == 0, done.stdout + done.stderr
    # On a busy machine the call has ended before the last of them, which are duplicates then.
    assert sum(map(int, re.findall(r"accepted\b.* (\d+)$", done.stdout, re.MULTILINE))) == 2500, done.stdout
    handler.wait(call)
