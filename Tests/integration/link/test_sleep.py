"""A device that sleeps: its link is checked before the sleep and after it, as logind says, which is python3-dbusmock.

In Tests/lab/link/suspend a machine really sleeps.
"""

import re
import signal
from collections.abc import Callable

import pytest
from support import processes
from support.buses import Bus
from support.credentials import Credentials
from support.daemon import Daemon
from support.links import pair
from support.nat import GIVE_UP, Nat, Pair
from support.services import Logind
from support.waiting import until

# The port that a network card would know the link by.
LOCAL_PORT = 40883
# Keep-alives by which a gateway soon finds a dead link; seconds.
BEGINNING, SHORTEST = 8, 5
# What the device says if a check is not done in time.
TOO_LATE = "the machine sleeps before the link is checked"
CANNOT = "Cannot assign requested address"


class Sleeper(Pair):
    """A gateway, and a device behind the router whose machine sleeps as logind says."""

    def __init__(self, nat: Nat, gateway: Daemon, device, logind: Logind) -> None:
        super().__init__(nat, gateway, device)
        self.logind = logind

    def delays(self) -> list[dict]:
        """What is held to delay the sleep."""
        return [one for one in self.logind.inhibitors() if one["mode"] == "delay"]

    def is_delayed(self) -> bool:
        return bool(self.delays())

    def wait_until_delayed(self) -> None:
        until(self.is_delayed, GIVE_UP, self.logs)

    def wait_until_released(self) -> None:
        until(lambda: not self.is_delayed(), GIVE_UP, self.logs)

    def signal_sleep(self, begins: bool) -> None:
        """logind says that the machine is about to sleep, or that it has slept."""
        self.logind.emit(self.logind.manager, "PrepareForSleep", "b", "true" if begins else "false")

    def links(self) -> int:
        """How many links the device has had. By their port the router can't tell them apart."""
        return self.device.log.count("notice linked to the gateway")

    def wait_for_more_links(self, former: int) -> None:
        until(lambda: self.links() > former, GIVE_UP, self.logs)
        self.device.wait_until_linked()

    def ports(self) -> set[str]:
        """The ports of the device that the router knows links from."""
        return {port for entry in self.nat.entries() for port in re.findall(r"^.*?sport=(\d+)", entry)}


@pytest.fixture
def unpaired(
    nat: Nat, make_daemon: Callable[..., Daemon], nat_credentials: Credentials, system_bus: Bus
) -> Sleeper:
    gateway = nat.make_gateway(make_daemon, credentials=nat_credentials)
    device = nat.make_device(make_daemon, credentials=nat_credentials)
    device.variables |= system_bus.environment()
    device.settings["link"] = f"local_port = {LOCAL_PORT}"
    return Sleeper(nat, gateway, device, Logind(system_bus))


@pytest.fixture
def sleeper(unpaired: Sleeper) -> Sleeper:
    unpaired.start()
    unpaired.wait_until_delayed()
    return unpaired


def test_the_sleep_is_delayed_while_the_device_is_paired(unpaired: Sleeper) -> None:
    unpaired.gateway.start()
    unpaired.device.start()
    assert unpaired.logind.calls("Inhibit") == []
    pair(unpaired.gateway, unpaired.device)
    unpaired.wait_until_delayed()
    assert unpaired.delays() == [
        {"what": "sleep", "who": "Ringwake", "why": "Checks the link to the gateway", "mode": "delay"}
    ]
    # A link that is away for a while changes nothing.
    unpaired.gateway.kill()
    until(lambda: unpaired.device.link["state"] != "linked", GIVE_UP, unpaired.logs)
    assert unpaired.is_delayed()
    assert unpaired.device.ringwake("link", "unpair").returncode == 0
    unpaired.wait_until_released()


def test_a_logind_that_was_restarted_is_asked_again(sleeper: Sleeper) -> None:
    sleeper.logind.service.restart()
    sleeper.wait_until_delayed()
    sleeper.signal_sleep(True)
    sleeper.wait_until_released()


def test_the_machine_sleeps_as_soon_as_the_gateway_has_answered(sleeper: Sleeper) -> None:
    former = sleeper.links()
    for _ in range(3):
        sleeper.signal_sleep(True)
        sleeper.wait_until_released()
        sleeper.signal_sleep(False)
        sleeper.wait_until_delayed()
    assert TOO_LATE not in sleeper.device.log
    sleeper.ring()
    sleeper.check_once()
    assert sleeper.links() == former, "the same link"


@pytest.mark.alone
def test_the_machine_does_not_sleep_before(sleeper: Sleeper) -> None:
    processes.stop(sleeper.gateway.pid)
    try:
        sent = sleeper.nat.traffic()["from_device"][0]
        sleeper.signal_sleep(True)
        until(lambda: sleeper.nat.traffic()["from_device"][0] > sent, GIVE_UP, "the device to ask")
        assert sleeper.is_delayed(), "the gateway has not answered"
    finally:
        sleeper.gateway.process.send_signal(signal.SIGCONT)
    sleeper.wait_until_released()


def test_a_dead_link_is_replaced_before_the_sleep(sleeper: Sleeper) -> None:
    # No call yet, whose receipts would find it, too.
    former = sleeper.links()
    # The gateway doesn't know it, and the kernels of both will not for minutes.
    sleeper.nat.expire()
    sleeper.signal_sleep(True)
    sleeper.wait_for_more_links(former)
    sleeper.wait_until_released()
    sleeper.ring()
    sleeper.check_once()


def test_a_gateway_that_is_silent_holds_up_no_sleep(sleeper: Sleeper) -> None:
    """Nor does its answer, which comes after the sleep, end the lock that delays the next one."""
    sleeper.nat.cut()
    sleeper.signal_sleep(True)
    sleeper.wait_until_released()
    sleeper.device.log_mentions(TOO_LATE)
    sleeper.signal_sleep(False)
    sleeper.wait_until_delayed()
    sleeper.nat.restore()
    sleeper.nat.unplug()
    sleeper.nat.plug()
    sleeper.ring()
    sleeper.check_once()
    assert sleeper.is_delayed(), "for the next sleep"
    sleeper.signal_sleep(True)
    sleeper.wait_until_released()


def test_a_sleep_without_a_path_is_not_delayed(sleeper: Sleeper) -> None:
    sleeper.nat.unplug()
    sleeper.gateway.kill()
    sleeper.signal_sleep(True)
    sleeper.wait_until_released()
    assert TOO_LATE not in sleeper.device.log
    sleeper.signal_sleep(False)
    sleeper.wait_until_delayed()


def test_a_link_that_died_in_the_sleep_is_replaced_after_it(sleeper: Sleeper) -> None:
    # No call yet, whose receipts would find it, too.
    former = sleeper.links()
    sleeper.signal_sleep(True)
    sleeper.wait_until_released()
    # The router forgets meanwhile, the gateway gives the link up, and pushes wait.
    sleeper.nat.expire()
    call = sleeper.push()
    sleeper.wait_until_offline()
    assert call not in sleeper.device.recorders[0].wakes()
    sleeper.signal_sleep(False)
    sleeper.wait_for_more_links(former)
    sleeper.wait(call)
    sleeper.ring()
    sleeper.check_once()
    sleeper.wait_until_delayed()


@pytest.mark.parametrize("is_asleep", [True, False])
def test_only_a_link_that_died_in_the_sleep_is_no_fault_of_the_network(unpaired: Sleeper, is_asleep: bool) -> None:
    unpaired.gateway.sections["gateway"] += f'keepalive = "{BEGINNING}s"\nkeepalive_shortest = "{SHORTEST}s"\n'
    unpaired.start()
    unpaired.wait_until_delayed()
    assert unpaired.device.link["keepAliveSeconds"] == BEGINNING
    former = unpaired.links()
    if is_asleep:
        unpaired.signal_sleep(True)
        unpaired.wait_until_released()
    unpaired.nat.expire()
    unpaired.wait_until_offline()
    if is_asleep:
        unpaired.signal_sleep(False)
    else:
        unpaired.nat.unplug()
        unpaired.nat.plug()
    unpaired.wait_for_more_links(former)
    assert unpaired.device.link["keepAliveSeconds"] == (BEGINNING if is_asleep else SHORTEST), unpaired.logs()


def test_every_link_comes_from_the_same_port(sleeper: Sleeper) -> None:
    assert sleeper.ports() == {str(LOCAL_PORT)}
    former = sleeper.links()
    sleeper.nat.expire()
    sleeper.signal_sleep(False)
    sleeper.wait_for_more_links(former)
    assert sleeper.ports() == {str(LOCAL_PORT)}, "the dead one's"
    assert CANNOT not in sleeper.device.log


def test_a_port_that_is_still_taken_costs_no_link(sleeper: Sleeper) -> None:
    """The kernel still has the link of a daemon that was killed, and gets no answer to its end."""
    sleeper.nat.expire()
    sleeper.device.kill()
    sleeper.device.start()
    sleeper.device.wait_until_linked()
    assert CANNOT not in sleeper.device.log
    sleeper.ring()
    sleeper.check_once()
