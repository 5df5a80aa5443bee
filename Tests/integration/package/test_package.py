"""What the Debian package holds."""

import shutil
from pathlib import Path

import pytest

from support import programs
from support.machine import check
from support.package import BUILD_TIMEOUT, Packages, build


def contents(package: Path) -> dict[str, str]:
    """The mode of each file in the package, as ls shows it."""
    lines = (line.split() for line in check("dpkg-deb", "--contents", package).splitlines())
    return {words[5].removeprefix("."): words[0] for words in lines if not words[0].startswith("d")}


def test_lintian_has_neither_errors_nor_warnings(packages: Packages) -> None:
    command = ["lintian", "--fail-on=error,warning", "--allow-root", packages.current]
    done = programs.run(*command, timeout=BUILD_TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_file_to_install_is_in_the_package(packages: Packages) -> None:
    held = contents(packages.current)
    for path in ("/usr/bin/ringwaked", "/usr/bin/ringwake", "/usr/libexec/ringwake/ringwake-audio",
                 "/usr/libexec/ringwake/ringwake-baresip", "/usr/libexec/ringwake/acme-deploy-hook",
                 "/usr/libexec/ringwake/scheduled-backup"):  # fmt: skip
        assert held[path] == "-rwxr-xr-x", path
    deploy = programs.ROOT / "deploy"
    expected = [f"/lib/systemd/system/{unit.name}" for unit in (deploy / "systemd" / "system").iterdir()]
    expected += [f"/usr/lib/systemd/user/{unit.name}" for unit in (deploy / "systemd" / "user").iterdir()]
    expected += [f"/usr/share/man/man{page.suffix[1:]}/{page.name}.gz" for page in (deploy / "man").iterdir()]
    expected += [
        "/usr/lib/sysusers.d/ringwake.conf",
        "/usr/lib/tmpfiles.d/ringwake.conf",
        "/usr/share/polkit-1/rules.d/50-ringwake.rules",
        "/usr/share/dbus-1/interfaces/org.ringwake.Handler1.xml",
        "/usr/share/dbus-1/system.d/ringwake.conf",
        "/usr/share/bash-completion/completions/ringwake",
        "/usr/share/zsh/vendor-completions/_ringwake",
        "/usr/share/fish/vendor_completions.d/ringwake.fish",
        "/usr/share/doc/ringwake/copyright",
        "/usr/share/doc/ringwake/changelog.gz",
        "/usr/share/doc/ringwake/CHANGELOG.md.gz",
        "/usr/share/doc/ringwake/README.md.gz",
        "/usr/share/doc/ringwake/examples/ringwaked.toml",
        "/usr/share/doc/ringwake/examples/org.example.Phone.conf",
        "/usr/share/doc/ringwake/examples/org.example.Phone.service",
    ]
    for path in expected:
        assert held.get(path) == "-rw-r--r--", path
    # A configuration in the package would be one that nobody asked for.
    assert not [path for path in held if path.startswith("/etc/")]


def test_programs_are_stripped_and_without_a_library_path(packages: Packages, tmp_path: Path) -> None:
    check("dpkg-deb", "--extract", packages.current, tmp_path)
    for path in ("usr/bin/ringwaked", "usr/bin/ringwake", "usr/libexec/ringwake/ringwake-audio",
                 "usr/libexec/ringwake/ringwake-baresip"):  # fmt: skip
        sections = check("objdump", "--section-headers", tmp_path / path)
        assert ".symtab" not in sections and ".debug_info" not in sections, path
        assert "RUNPATH" not in check("objdump", "--private-headers", tmp_path / path), path


def test_the_daemon_depends_on_no_library_of_the_audio_server(packages: Packages) -> None:
    assert "libssl3" in packages.control("Depends")
    assert "libpulse0" not in packages.control("Depends")
    assert "libpulse0" in packages.control("Recommends")


def test_the_same_programs_give_the_same_package(packages: Packages, tmp_path: Path) -> None:
    assert build(tmp_path).read_bytes() == packages.current.read_bytes()


@pytest.mark.parametrize("stale", [False, True], ids=["no program", "another version"])
def test_wrong_programs_are_refused(tmp_path: Path, stale: bool) -> None:
    command = [programs.ROOT / "deploy" / "debian" / "build", "--programs", tmp_path, "--output", tmp_path]
    expected = f"there is no program {tmp_path}/ringwaked; build the programs with deploy/build-release"
    if stale:
        for name in ("ringwaked", "ringwake-audio", "ringwake-baresip"):
            shutil.copy(programs.BIN_DIRECTORY / name, tmp_path)
        (tmp_path / "ringwake").write_text("#!/bin/sh\necho ringwake 0.0.0\n")
        (tmp_path / "ringwake").chmod(0o755)
        expected = "has ringwake 0.0.0, but the source is"
    done = programs.run(*command)
    assert done.returncode == 1 and expected in done.stderr, done.stderr
    assert not list(tmp_path.glob("*.deb"))
