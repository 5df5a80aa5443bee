"""New device tokens for an app: the former ones expire, with the time."""

import json
import time
import uuid

from support.credentials import APP
from support.daemon import Daemon
from support.h2client import H2Client
from support.pushing import push


def test_a_replaced_token_is_gone_with_the_time_and_the_new_one_works(daemon: Daemon) -> None:
    old = daemon.device_token()
    before = int(time.time() * 1000)
    with daemon.control.events(f"?app={APP}") as events:
        renewed = json.loads(daemon.ringwake("app", "renew-tokens", APP, "--json").stdout)
        events.until("credentials", app=APP)
    after = int(time.time() * 1000)
    new = daemon.device_token()
    assert renewed["tokens"]["development"] == new != old
    daemon.stop()
    daemon.start()
    fields = {"authorization": daemon.credentials.authorization(), "apns_topic": APP + ".voip"}
    with H2Client(daemon.host_and_port, daemon.credentials.context()) as client:
        answer = client.push(old, b"{}", apns_id=str(uuid.uuid4()), **fields)
    assert answer.status == 410
    body = json.loads(answer.body)
    assert body["reason"] == "ExpiredToken" and set(body) == {"reason", "timestamp"}
    assert isinstance(body["timestamp"], int) and before <= body["timestamp"] <= after
    assert "was replaced by a new one at" in daemon.ringwake("push", "list", "--refused").stdout
    assert push(daemon, str(uuid.uuid4())).status == 200
