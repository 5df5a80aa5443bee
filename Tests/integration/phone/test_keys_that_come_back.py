"""What arrives while the keys can't be had, and what was protected before, are readable when they are there."""

from support.protection import ALL, by_passphrase, make, reborn
from support.telephone import PAYLOAD, ends, send, shown, user
from support.waiting import until

CALLER = "+49301234567"


def declined(daemon) -> str:
    call = send(daemon, caller=CALLER)
    daemon.control.wait_for(call, "ringing")
    user(daemon, "call", "decline", call)
    ends(daemon, call, "declined")
    return call


def test_what_arrived_before_there_were_keys_outlives_the_daemon(telephone) -> None:
    daemon = telephone().by_exec(more=PAYLOAD).daemon
    folder = daemon.directory / "medium"
    daemon.sections["protection"] = f'root_key = "{folder}/root.key"\n'
    daemon.sections["protection.classes"] = 'callers = "complete"\nlists = "complete"\n'
    daemon.start()
    assert "can't be made" in user(daemon, "protection", "status").stdout
    call = declined(daemon)
    folder.mkdir()
    user(daemon, "protection", "unlock")
    daemon.log_mentions("the former keys are removed")
    assert shown(daemon, call)["caller"] == CALLER
    reborn(daemon)
    assert shown(daemon, call)["caller"] == CALLER


def test_protection_that_was_turned_off_needs_its_passphrase_once(telephone) -> None:
    daemon = telephone().by_exec(more=PAYLOAD).daemon
    daemon.sections["protection"] = 'root_key = "passphrase"\n'
    daemon.start()
    (daemon.directory / "passphrase").write_text("correct horse\n")
    user(daemon, "protection", "passphrase", "--passphrase-file", daemon.directory / "passphrase")
    call = declined(daemon)
    daemon.stop()
    daemon.sections["protection"] = 'root_key = "off"\n'
    daemon.write_configuration()
    daemon.start()
    status = user(daemon, "protection", "status").stdout
    assert "needs its passphrase once: run 'ringwake protection unlock'" in status, status
    assert shown(daemon, call).get("caller") is None
    wrong = daemon.ringwake("protection", "unlock", env={"RINGWAKE_PASSWORD": "wrong"})
    assert wrong.returncode == 1 and "passphrase" in wrong.stderr, wrong
    user(daemon, "protection", "unlock", "--passphrase-file", daemon.directory / "passphrase")
    daemon.log_mentions("records were written again")
    assert shown(daemon, call)["caller"] == CALLER
    reborn(daemon)
    assert shown(daemon, call)["caller"] == CALLER
    # Once.
    until(lambda: "unusable" not in daemon.control.get("/v1/protection"), 20, "it to be known that nothing is protected")
    assert "passphrase" not in user(daemon, "protection", "status").stdout


def test_a_file_of_keys_that_is_put_back_is_opened_with_its_passphrase(make_daemon) -> None:
    daemon, protection = by_passphrase(make_daemon)
    good = protection.file.read_bytes()
    files = (protection.file, protection.file.parent / "copies" / protection.file.name)
    daemon.stop()
    for file in files:
        file.write_bytes(good[:40])
    daemon.start()
    assert protection.message["unusable"]
    protection.file.write_bytes(good)
    done = daemon.ringwake("protection", "unlock", "--passphrase-file", daemon.directory / "passphrase")
    assert done.returncode == 0, done
    assert protection.message["state"] == "unlocked" and protection.available == ALL


def test_a_lock_that_begins_says_so(make_daemon) -> None:
    daemon, protection = by_passphrase(make_daemon)
    done = daemon.ringwake("protection", "lock")
    assert done.returncode == 0 and done.stdout.startswith("the device is being locked: apps have ten seconds")
    protection.waits_until("locked")
    assert "being locked" not in daemon.ringwake("protection", "lock").stdout


def test_what_a_passphrase_is_asked_for_in_vain_says_what_is_missing(make_daemon, tmp_path) -> None:
    daemon, _ = make(make_daemon, 'root_key = "passphrase"')
    daemon.start()
    (tmp_path / "passphrase").write_text("correct horse\n")
    done = daemon.ringwake("protection", "unlock", "--passphrase-file", tmp_path / "passphrase")
    assert done.returncode != 0 and "run 'ringwake protection passphrase'" in done.stderr, done
