"""The rules' own tests: for each, a good tree that it passes and bad trees that it must not pass."""

import sys
import tempfile
from pathlib import Path

from . import rules
from .tree import Tree

KEY_BODY = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg"
KEY_HEADER = "-----BEGIN PRIVATE " + "KEY-----"


def _package(name: str, *dependencies: str) -> dict:
    return {"targets": [{
        "name": name, "type": "regular", "dependencies": [{"byName": [dependency, None]} for dependency in dependencies],
    }]}


def _all_modules() -> dict[str, str]:
    return {
        f"Sources/C/{name}/shim.h" if ring == 0 else f"Sources/{name}/File.swift": "\n"
        for name, ring in rules.RINGS.items()
    }


def _errors(row: str) -> dict[str, str]:
    return {
        rules.ERROR_SOURCE: 'static let notFound = Code("not-found", http: 404, exit: 5)\n',
        rules.ERROR_PAGE: f"| code | HTTP | exit |\n|---|---|---|\n{row}\n",
    }


# rule, what the tree shows, whether the rule must find a breach, files, manifest
CASES = [
    (rules.rings, "a lower ring", False, {}, _package("Cryptography", "RingwakeCore")),
    (rules.rings, "the one pair of the same ring", False, {}, _package("HTTPServer", "Cryptography")),
    (rules.rings, "the same pair the other way", True, {}, _package("Cryptography", "HTTPServer")),
    (rules.rings, "sideways", True, {}, _package("PushGateway", "HandlerActivation")),
    (rules.rings, "upwards", True, {}, _package("RunLoop", "HTTPServer")),
    (rules.rings, "a target without a ring", True, {}, _package("Utilities", "RingwakeCore")),
    (rules.modules, "all of them", False, _all_modules(), None),
    (rules.modules, "one more", True, _all_modules() | {"Sources/Utilities/A.swift": ""}, None),
    (rules.modules, "one gone", True, {"Sources/RunLoop/A.swift": ""}, None),
    (rules.file_length, "400 lines", False, {"Sources/A/A.swift": "x\n" * 400}, None),
    (rules.file_length, "401 lines of Swift", True, {"Sources/A/A.swift": "x\n" * 401}, None),
    (rules.file_length, "401 lines of Python", True, {"Tests/integration/a.py": "x\n" * 401}, None),
    (rules.file_length, "a script of 401 lines", True, {"Tests/run": "#!/bin/bash\n" * 401}, None),
    (rules.pure_modules, "the word in a comment", False, {"Sources/HTTP1/A.swift": "// import Glibc\n"}, None),
    (rules.pure_modules, "an import", True, {"Sources/HTTP1/A.swift": "import Glibc\n"}, None),
    (rules.pure_modules, "a scoped import", True, {"Sources/RingwakeCore/A/B.swift": "package import func Glibc.abs\n"}, None),
    (rules.no_foundation, "the small one", False, {"Sources/A/A.swift": "internal import FoundationEssentials\n"}, None),
    (rules.no_foundation, "the big one", True, {"Sources/A/A.swift": "internal import Foundation\n"}, None),
    (rules.no_foundation, "a part of it", True, {"Sources/A/A.swift": "@preconcurrency import struct Foundation.URL\n"}, None),
    (rules.c_modules, "a shim", False, {"Sources/C/CRingwakeCurl/shim.h": ""}, None),
    (rules.c_modules, "a body", True, {"Sources/C/CRingwakeCurl/curl.c": ""}, None),
    (rules.c_modules, "a second body", True, {"Sources/C/CRingwakeTOML/more.cpp": ""}, None),
    (rules.thin_mains, "29 lines", False, {"Sources/ringwake/main.swift": "x\n" * 29}, None),
    (rules.thin_mains, "30 lines", True, {"Sources/ringwake/main.swift": "x\n" * 30}, None),
    (rules.proofs, "a reason", False, {"Sources/A/A.swift": "// Bytes above: 1 to 9.\nlet a = try! b()\n"}, None),
    (rules.proofs, "one reason for two lines", False, {"Sources/A/A.swift": "// 1 to 9.\ntry! b()\ntry! c()\n"}, None),
    (rules.proofs, "the word in a string", False, {"Sources/A/A.swift": 'let a = "as! b"\n'}, None),
    (rules.proofs, "no reason", True, {"Sources/A/A.swift": "\nlet a = try! b()\n"}, None),
    (rules.proofs, "documentation is no reason", True, {"Tests/A/A.swift": "/// A.\nlet a = b as! C\n"}, None),
    (rules.proofs, "unchecked", True, {"Sources/A/A.swift": "final class A: @unchecked Sendable {}\n"}, None),
    (rules.no_left_overs, "none", False, {"Sources/A/A.swift": "// Mastodons\n"}, None),
    (rules.no_left_overs, "one", True, {"deploy/quickstart": "# TO" + "DO: later\n"}, None),
    (rules.one_run_loop, "words in comments", False, {"Sources/A/A.swift": "// no Task, no async\n"}, None),
    (rules.one_run_loop, "the face of a library", False,
     {"Sources/Reachability/Context/A.swift": "await a()\n", "Sources/Reachability/PathMonitor.swift": "await a()\n"}, None),
    (rules.one_run_loop, "behind the face", True, {"Sources/Reachability/Core/A.swift": "await a()\n"}, None),
    (rules.one_run_loop, "async", True, {"Sources/A/A.swift": "func a() async {}\n"}, None),
    (rules.one_run_loop, "a task", True, {"Sources/A/A.swift": "Task { }\n"}, None),
    (rules.no_keys, "a header in code", False, {"Sources/A/A.swift": f'let a = "{KEY_HEADER}"\n'}, None),
    (rules.no_keys, "a key", True, {"certs/a.txt": f"{KEY_HEADER}\n{KEY_BODY}\n"}, None),
    (rules.no_keys, "a key in a string", True, {"Tests/A.swift": f'let a = "{KEY_HEADER}\\n{KEY_BODY}\\n"\n'}, None),
    (rules.no_keys, "a key in an indented string", True, {"Tests/A.swift": f"    {KEY_HEADER}\n    {KEY_BODY}\n"}, None),
    (rules.no_keys, "a container", True, {"certs/a.p12": ""}, None),
    (rules.no_workplace, "a word that holds it", False, {"README.md": "network/a, $HOME/work/x, ./work/a\n"}, None),
    (rules.no_workplace, "a folder", True, {"README.md": "see /wo" + "rk/main\n"}, None),
    (rules.no_workplace, "a mirror", True, {"Tests/run": "pip install --index" + "-url x\n"}, None),
    (rules.errors_documented, "a line", False, _errors("| `not-found` | 404 | 5 | nothing there |"), None),
    (rules.errors_documented, "no line", True, _errors(""), None),
    (rules.errors_documented, "another status", True, _errors("| `not-found` | 404 | 1 | nothing there |"), None),
    (rules.errors_documented, "a line too many", True,
     _errors("| `not-found` | 404 | 5 | x |\n| `lost` | 500 | 1 | x |"), None),
    (rules.errors_documented, "no page", True, {rules.ERROR_SOURCE: ""}, None),
]  # fmt: skip


def run() -> int:
    """Runs every case; answers the exit status."""
    failures = 0
    for rule, shows, is_bad, files, package in CASES:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            breaches = list(rule(Tree(root, list(files), package)))
        if bool(breaches) != is_bad:
            failures += 1
            expected = "found nothing" if is_bad else f"found {breaches[0]!r}"
            print(f"check-layout: rule {rule.__name__}, {shows}: {expected}", file=sys.stderr)
    for rule in rules.ALL:
        kinds = {is_bad for tested, _, is_bad, _, _ in CASES if tested is rule}
        if kinds != {True, False}:
            failures += 1
            print(f"check-layout: rule {rule.__name__} needs a good tree and a bad one in selftest.py", file=sys.stderr)
    if failures:
        return 1
    print(f"check-layout: {len(CASES)} self-tests of {len(rules.ALL)} rules passed")
    return 0
