"""`kill -9` of a gateway and of its device at random moments of a load: what was answered 200 is on the device once.

RINGWAKE_TEST_SCALE=10 makes ten times as many kills; RINGWAKE_TEST_SEED=N repeats a run, as far as two processes on one
machine can be repeated. Tests/lab/link/kills does it for hours.
"""

import json
import os
import random
import uuid
from collections.abc import Callable

import pytest
from support.daemon import Daemon
from support.kills import KillSite
from support.links import Device, make_gateway, pair, send
from support.native import Native
from support.waiting import until

SCALE = int(os.environ.get("RINGWAKE_TEST_SCALE") or 1)
KILLS = 8 * SCALE
PUSHES = 300 * SCALE


def test_what_was_answered_200_is_on_the_device_once(make_daemon: Callable[..., Daemon], native: Native) -> None:
    seed = int(os.environ.get("RINGWAKE_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"RINGWAKE_TEST_SEED={seed}")
    site = KillSite(make_daemon, native.caller, seed).pair()
    site.live(KILLS, PUSHES)
    site.settle()
    print(f"{site.load.accepted} accepted, {dict(site.kills)}, {dict(site.answers())}")
    problems = site.problems()
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("killed", ["nobody", "device", "gateway"])
def test_a_repeated_push_leaves_the_receipt_of_its_call_as_it_is(
    make_daemon: Callable[..., Daemon], killed: str
) -> None:
    """As after a kill between the device's acknowledgement and the 200: the sender sends it again."""
    gateway = make_gateway(make_daemon).start()
    device: Device = make_daemon(kind=Device)
    # Its calls end at once.
    device.add_app("true")
    device.start()
    pair(gateway, device)
    token = device.device_token()

    def push(name: str) -> None:
        assert send(gateway, token, name).status == 200

    def wait_for_the_end(name: str) -> None:
        until(lambda: receipt(gateway, name) == journaled(device, name), 60, lambda: f"{receipt(gateway, name)}")
        assert receipt(gateway, name)[0] == "missed"

    call, other = str(uuid.uuid4()), str(uuid.uuid4())
    push(call)
    until(lambda: journaled(device, call)[0] == "missed", 60, lambda: f"{journaled(device, call)}")
    wait_for_the_end(call)
    if killed == "gateway":
        address = gateway.control.get("/v1/gateway")["address"]
        gateway.sections["gateway"] = f'listen = "{address}"\naddress = "127.0.0.1"\n'
        gateway.write_configuration()
    if killed != "nobody":
        victim = device if killed == "device" else gateway
        victim.kill()
        victim.start()
        device.wait_until_linked()
    push(call)
    push(other)
    # What the device says of a later push comes with what it says of the repeated one, or after it.
    until(lambda: journaled(device, other)[0] == "missed", 60, lambda: f"{journaled(device, other)}")
    wait_for_the_end(other)
    assert receipt(gateway, call) == journaled(device, call)


def receipt(gateway: Daemon, push_id: str) -> tuple[str, str | None, int]:
    return facts(json.loads(gateway.ringwake("push", "show", push_id, "--json").stdout))


def journaled(device: Daemon, push_id: str) -> tuple[str, str | None, int]:
    return facts(device.control.get(f"/v1/pushes/{push_id}"))


def facts(push: dict) -> tuple[str, str | None, int]:
    return push["state"], push.get("reason"), push.get("attempt", 0)
