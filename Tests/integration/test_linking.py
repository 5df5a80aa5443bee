"""What each program links, beside the C library and the C++ runtime: what it doesn't need must not be installed for it."""

import os
import re
from pathlib import Path

import pytest
from support.audio_agent import RINGWAKE_AUDIO
from support.programs import EXAMPLES_DIRECTORY, RINGWAKE, RINGWAKED, run

# In every program: Swift's own runtime is linked in, and is written in C++.
RUNTIME = re.compile(r"(libc|libm|libgcc_s|libstdc\+\+|ld-linux[a-z0-9_-]*)\.so")

LINKED = {
    RINGWAKED: {"libcrypto", "libnghttp2", "libnl-3", "libsqlite3", "libssl", "libsystemd"},
    RINGWAKE: {"libcrypto", "libnl-3", "libssl"},
    RINGWAKE_AUDIO: {"libpulse", "libsystemd"},
    # A call app needs nothing but RingwakeKit.
    EXAMPLES_DIRECTORY / "phone-handler": set(),
    EXAMPLES_DIRECTORY / "baresip-handler": set(),
}  # fmt: skip


@pytest.mark.parametrize(("program", "libraries"), LINKED.items(), ids=[program.name for program in LINKED])
def test_a_program_links_what_it_needs_and_nothing_else(program: Path, libraries: set[str]) -> None:
    done = run("readelf", "--dynamic", program)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout)
    assert needed, done.stderr
    assert {name.partition(".so")[0] for name in needed if not RUNTIME.match(name)} == libraries, needed


@pytest.mark.parametrize("program", [RINGWAKED, RINGWAKE, RINGWAKE_AUDIO], ids=lambda program: program.name)
def test_a_shipped_program_finds_its_symbols_at_the_start_and_in_the_systems_folders(program: Path) -> None:
    done = run("readelf", "--dynamic", program)
    assert "RUNPATH" not in done.stdout
    assert "BIND_NOW" in done.stdout or "NOW" in done.stdout, "-z now"


@pytest.mark.skipif(os.getuid() != 0, reason="needs root: it hides a library in a mount namespace")
def test_without_libcurl_what_sends_says_what_to_install_and_other_commands_work() -> None:
    library = re.search(r"libcurl\.so\.4 .*=> (\S+)", run("ldconfig", "-p").stdout)[1]

    def without(*arguments: str) -> tuple[int, str]:
        hide = 'mount --bind /dev/null "$1" && shift && exec "$@"'
        done = run("unshare", "--mount", "sh", "-c", hide, "sh", os.path.realpath(library), RINGWAKE, *arguments)
        return done.returncode, done.stderr

    assert without("--version") == (0, "")
    code, message = without("block", "import", "https://localhost:1/list")
    assert code == 1
    assert message.startswith("ringwake: libcurl cannot be loaded: "), message
    assert message.endswith("; install libcurl 4 with OpenSSL (libcurl4)\n"), message
