"""A passphrase that opens the keys of stored data: set, changed, entered wrong, and asked for by a lock that has begun."""

from support.protection import ALL, by_key_file, by_passphrase, derived, make, reborn
from support.waiting import until


def test_a_passphrase_set_wrong_right_and_after_a_kill(make_daemon) -> None:
    daemon, protection = make(make_daemon, 'root_key = "passphrase"')
    daemon.start()
    assert "no passphrase is set yet" in protection.message["why"]
    protection.set_passphrase("correct horse")
    assert protection.message["state"] == "unlocked" and protection.message["source"] == "passphrase"
    reborn(daemon)
    assert protection.message["state"] == "locked" and protection.available == set()
    assert "ringwake protection unlock" in protection.message["why"]
    wrong = protection.unlock("battery staple")
    assert wrong.returncode == 1 and "the passphrase is wrong" in wrong.stderr
    assert protection.message["state"] == "locked"
    right = protection.unlock("correct horse")
    assert right.returncode == 0 and right.stdout.startswith("protection  unlocked\n")
    assert protection.available == ALL
    # Neither is anywhere.
    for secret in ("correct horse", "battery staple"):
        assert secret not in daemon.log and secret.encode() not in protection.file.read_bytes()


def test_a_program_that_knows_only_the_description_unlocks(make_daemon) -> None:
    daemon, protection = by_passphrase(make_daemon)
    reborn(daemon)
    status, answer = protection.ask("unlock", {"key": derived("correct horse", protection.message)})
    assert (status, answer["state"]) == (200, "unlocked")
    reborn(daemon)
    for body, expected in (({}, 423), (None, 423), ({"key": "short"}, 400), ({"key": "A" * 43}, 400)):
        status, answer = protection.ask("unlock", body)
        assert status == expected, answer
    assert protection.message["state"] == "locked"


def test_the_passphrase_is_changed_and_the_former_one_opens_nothing(make_daemon) -> None:
    daemon, protection = by_passphrase(make_daemon)
    before = protection.message["passphrase"]["salt"]
    protection.set_passphrase("another one")
    assert protection.message["passphrase"]["salt"] != before
    reborn(daemon)
    assert protection.unlock("correct horse").returncode == 1
    assert protection.unlock("another one").returncode == 0


def test_wrong_keys_are_limited_and_the_daemon_answers_meanwhile(make_daemon) -> None:
    daemon, protection = by_passphrase(make_daemon)
    right = derived("correct horse", protection.message)
    reborn(daemon)
    for _ in range(5):
        assert protection.ask("unlock", {"key": "A" * 43})[1]["error"] == "bad-credential"
    status, answer = protection.ask("unlock", {"key": right})
    assert status == 429 and "try again in" in answer["message"]
    assert daemon.control.status()["protection"]["state"] == "locked"

    def is_right_now() -> bool:
        return protection.ask("unlock", {"key": right})[0] == 200

    until(is_right_now, 30, "the next try to be looked at")


def test_a_lock_that_has_begun_ends_with_the_passphrase_alone(make_daemon) -> None:
    """Within the grace period the keys are still there, and a command without the passphrase must not keep them."""
    daemon, protection = by_passphrase(make_daemon)
    right = {"key": derived("correct horse", protection.message)}
    assert protection.ask("unlock", {"key": "A" * 43})[1]["error"] == "bad-credential"
    assert protection.ask("unlock", {})[0] == 200
    assert protection.ask("lock")[0] == 200
    for body in ({}, None):
        assert protection.ask("unlock", body)[0] == 423
    assert protection.ask("unlock", {"key": "A" * 43})[1]["error"] == "bad-credential"
    # Nor with a new passphrase.
    other = {"key": "B" * 42 + "A", "passphrase": protection.message["passphrase"]}
    assert protection.ask("passphrase", other)[0] == 423
    assert protection.ask("rekey")[0] == 423
    assert protection.ask("unlock", right)[0] == 200 and protection.message["state"] == "unlocked"
    assert protection.ask("lock")[0] == 200
    assert protection.unlock("battery staple").returncode == 1
    protection.waits_until("locked")


def test_where_another_source_is_configured_no_passphrase_is_set(make_daemon) -> None:
    daemon, _ = by_key_file(make_daemon)
    done = daemon.ringwake("protection", "passphrase", env={"RINGWAKE_PASSWORD": "x"})
    assert done.returncode == 1 and "'root_key' in [protection]" in done.stderr
