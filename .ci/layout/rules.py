"""The rules. Each takes a tree and yields one line for each breach: `file:line: what is wrong; what to do`.

A rule's first sentence is its description in `check-layout.py --list`. Each has a bad tree in `selftest.py`.
"""

import re
from collections.abc import Iterator

from .tree import Tree, code_only, is_comment

# A module uses modules of lower rings only.
RINGS = {
    "CRingwakeLinux": 0, "CRingwakeOpenSSL": 0, "CRingwakeNGHTTP2": 0, "CRingwakeCurl": 0, "CRingwakeTOML": 0,
    "CRingwakeSQLite": 0, "CRingwakeNetlink": 0, "CRingwakeSystemd": 0, "CRingwakePulse": 0,
    "CRingwakeArchive": 0,
    "RingwakeCore": 1, "HTTP1": 1, "MQTT5": 1, "RunLoop": 1, "FileSystem": 1, "LogOutput": 1,
    "Database": 1,
    "Cryptography": 2, "HTTPServer": 2, "Reachability": 2, "DBus": 2, "CallerListFiles": 2, "CallAudio": 2,
    "ProviderAPI": 2, "ServiceManager": 2, "DeviceLink": 2, "StoreMigration": 2, "DataProtection": 2,
    "PushGateway": 3, "PushJournal": 3, "HandlerActivation": 3, "DeviceServices": 3,
    "PushClient": 3, "LinkTransport": 3, "VoIPCertificates": 3, "ControlProtocol": 3,
    "BackupArchive": 3,
    "RingwakeKit": 4, "NetworkMessages": 4, "CallService": 4, "DaemonConfiguration": 4,
    "RingwakeKitTesting": 5, "RingwakeDaemon": 5, "RingwakeCommands": 5, "RingwakeAudioAgent": 5,
    "ringwaked": 6, "ringwake": 6, "ringwake-audio": 6, "ringwake-baresip": 6,
}  # fmt: skip

# Same ring, one way: the server speaks TLS through the one door to OpenSSL, and players are paused over the bus.
SAME_RING = {("HTTPServer", "Cryptography"), ("DataProtection", "Cryptography"), ("CallAudio", "DBus")}

# Pure modules: bytes and events in, values out.
WITHOUT_IMPORTS = ("Sources/RingwakeCore/", "Sources/HTTP1/", "Sources/MQTT5/")

MAXIMUM_LINES = 400
MAXIMUM_MAIN_LINES = 29

MEASURED_SUFFIXES = (".swift", ".py", ".c", ".cpp", ".h", ".sh")

# Files of a C module: what maps a library into Swift. Only the TOML reader is a library in C++ that needs a body.
C_MODULE_FILES = {"module.modulemap", "shim.h"}
C_MODULE_EXTRA = {"CRingwakeTOML": {"toml.cpp", "include/CRingwakeTOML.h"}}

IMPORT = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+"
    r"(?:(?:struct|class|enum|protocol|typealias|func|let|var)\s+)?(\w+)", re.MULTILINE)


def _line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def rings(tree: Tree) -> Iterator[str]:
    """A target depends on lower rings only."""
    for target in tree.package["targets"]:
        name = target["name"]
        if target["type"] == "test":
            continue
        if name not in RINGS:
            yield f"Package.swift: target {name} has no ring; add it to RINGS in .ci/layout/rules.py"
            continue
        for dependency in _local_dependencies(target):
            if dependency in RINGS and RINGS[dependency] >= RINGS[name] and (name, dependency) not in SAME_RING:
                yield (f"Package.swift: {name} (ring {RINGS[name]}) depends on {dependency} (ring "
                       f"{RINGS[dependency]}); join them in a higher ring")


def _local_dependencies(target: dict) -> list[str]:
    """Names of the targets of this package that the target depends on."""
    found = []
    for dependency in target["dependencies"]:
        for kind in ("byName", "target"):
            if kind in dependency:
                found.append(dependency[kind][0])
    return found


def modules(tree: Tree) -> Iterator[str]:
    """Every folder in Sources is a module with a ring, and every ring's module is there."""
    present = set()
    for path in tree.files:
        parts = path.split("/")
        if parts[0] != "Sources" or len(parts) < 3:
            continue
        present.add(parts[2] if parts[1] == "C" else parts[1])
    for name in sorted(present - RINGS.keys()):
        yield f"Sources/{name}: has no ring; add it to RINGS in .ci/layout/rules.py"
    for name in sorted(RINGS.keys() - present):
        yield f".ci/layout/rules.py: {name} has a ring and no folder in Sources; take it out"


def file_length(tree: Tree) -> Iterator[str]:
    """No file is longer than 400 lines."""
    for path in tree.files:
        is_script = "." not in path.rsplit("/", 1)[-1] and tree.text(path).startswith("#!")
        if (path.endswith(MEASURED_SUFFIXES) or is_script) and tree.line_count(path) > MAXIMUM_LINES:
            yield f"{path}: {tree.line_count(path)} lines, {MAXIMUM_LINES} are allowed; split it by what it does"


def pure_modules(tree: Tree) -> Iterator[str]:
    """RingwakeCore, HTTP1 and MQTT5 import nothing."""
    for path in tree.swift(*WITHOUT_IMPORTS):
        code = code_only(tree.text(path))
        for match in IMPORT.finditer(code):
            yield f"{path}:{_line_of(code, match.start(1))}: imports {match[1]}; this module is pure"


def no_foundation(tree: Tree) -> Iterator[str]:
    """Sources use FoundationEssentials, never Foundation: it adds 44 MB to a program."""
    for path in tree.swift("Sources/"):
        code = code_only(tree.text(path))
        for match in IMPORT.finditer(code):
            if match[1].startswith("Foundation") and match[1] != "FoundationEssentials":
                yield f"{path}:{_line_of(code, match.start(1))}: imports {match[1]}; use FoundationEssentials"


def c_modules(tree: Tree) -> Iterator[str]:
    """A C module holds a module map and a shim, nothing else."""
    for path in tree.files:
        parts = path.split("/", 3)
        if parts[:2] != ["Sources", "C"] or len(parts) < 4:
            continue
        if parts[3] not in C_MODULE_EXTRA.get(parts[2], C_MODULE_FILES):
            yield f"{path}: a C module holds module.modulemap and shim.h only; write it in Swift"


def thin_mains(tree: Tree) -> Iterator[str]:
    """A main.swift has under 30 lines."""
    for path in tree.files:
        if path.startswith("Sources/") and path.endswith("/main.swift") and tree.line_count(path) > MAXIMUM_MAIN_LINES:
            yield f"{path}: {tree.line_count(path)} lines; move the work into the module that it starts"


NEEDS_REASON = re.compile(r"\btry!|\bas!|\bfatalError\b|@unchecked\s+Sendable|\bnonisolated\(unsafe\)")


def proofs(tree: Tree) -> Iterator[str]:
    """try!, as!, fatalError, @unchecked Sendable and nonisolated(unsafe) stand under a comment that gives the reason."""
    for path in tree.swift("Sources/", "Tests/", "Examples/", "Benchmarks/"):
        lines = tree.text(path).splitlines()
        for number, code in enumerate(code_only(tree.text(path)).splitlines()):
            match = NEEDS_REASON.search(code)
            above = number - 1
            # One reason may stand above several lines that need it.
            while above >= 0 and NEEDS_REASON.search(lines[above]) and not is_comment(lines[above]):
                above -= 1
            if match and not (above >= 0 and is_comment(lines[above])):
                yield f"{path}:{number + 1}: {match[0]} without a comment above that says why it is sound"


LEFT_OVER = re.compile(r"\b(?:TODO|FIXME|XXX)\b")


def no_left_overs(tree: Tree) -> Iterator[str]:
    """No TODO and no FIXME: what is to be done is an issue."""
    for path in tree.files:
        if path.startswith(".ci/"):
            continue
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            match = LEFT_OVER.search(line)
            if match:
                yield f"{path}:{number}: {match[0]}; do it, or open an issue and delete the word"


CONCURRENCY = re.compile(r"\basync\b|\bawait\b|\bTask\b|\bDispatchQueue\b|\bactor\b")

# What app developers see of a library: streams of values beside callbacks. The core behind it is on a loop.
PUBLIC_FACE = (
    "Sources/CallAudio/Session/", "Sources/Reachability/PathMonitor.swift", "Sources/Reachability/ReachabilityMonitor.swift",
    "Sources/Reachability/Context/", "Sources/RingwakeKit/Calls/", "Sources/RingwakeKit/Client/",
    "Sources/RingwakeKit/Directory/", "Sources/RingwakeKit/Push/", "Sources/RingwakeKit/Restoration/",
    "Sources/RingwakeKitTesting/",
)  # fmt: skip


def one_run_loop(tree: Tree) -> Iterator[str]:
    """Nothing in Sources but the public face of a library uses async, await, Task, actor or DispatchQueue."""
    for path in tree.swift("Sources/"):
        if path.startswith(PUBLIC_FACE):
            continue
        for number, code in enumerate(code_only(tree.text(path)).splitlines(), 1):
            match = CONCURRENCY.search(code)
            if match:
                yield f"{path}:{number}: {match[0]}; see Documentation/decisions/0001-one-run-loop.md"


# A header that is followed by key material; the header alone, in code that reads or writes PEM, is no key.
PRIVATE_KEY = re.compile(r'-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----(?:\\n|[\s"+\\])*(?:[A-Z][\w-]+: |[A-Za-z0-9+/]{32})')
KEY_FILES = (".p8", ".p12", ".pfx", ".key")


def no_keys(tree: Tree) -> Iterator[str]:
    """No private key is in the tree."""
    for path in tree.files:
        if path.endswith(KEY_FILES):
            yield f"{path}: a key file in the tree; remove it, and do not use that key any more"
        match = PRIVATE_KEY.search(tree.text(path))
        if match:
            yield f"{path}:{_line_of(tree.text(path), match.start())}: a private key; make it when it is needed"


# What belongs to one machine: its own folders, its package mirrors, and switches that name them.
WORKPLACE = re.compile(
    r"(?<![\w.$}~-])/(?:work|root|workspace|builds)/|--(?:extra-)?index-url|PIP_INDEX_URL|"
    r"\b(?:pypi\.org|files\.pythonhosted\.org|registry\.npmjs\.org|proxy\.golang\.org|static\.crates\.io|"
    r"deb\.debian\.org|security\.debian\.org)\b")


def no_workplace(tree: Tree) -> Iterator[str]:
    """Nothing in the tree names the machine that it was written on."""
    for path in tree.files:
        if path.startswith(".ci/"):
            continue
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            match = WORKPLACE.search(line)
            if match:
                yield f"{path}:{number}: {match[0]} belongs to one machine; use a relative path or a default"


ERROR_SOURCE = "Sources/RingwakeCore/RingwakeError.swift"
ERROR_PAGE = "Documentation/errors.md"
ERROR_CODE = re.compile(r'Code\("([a-z0-9-]+)", http: (\d+), exit: (\d+)\)')
ERROR_ROW = re.compile(r"^\| `([a-z0-9-]+)` \| (\d+) \| (\d+) \|", re.MULTILINE)


def errors_documented(tree: Tree) -> Iterator[str]:
    """Each error code has a line in Documentation/errors.md with its HTTP and exit status."""
    if ERROR_SOURCE not in tree.files or ERROR_PAGE not in tree.files:
        yield f"{ERROR_PAGE}: it or {ERROR_SOURCE} is missing; the rule compares the two"
        return
    coded = {match[0]: (match[1], match[2]) for match in ERROR_CODE.findall(tree.text(ERROR_SOURCE))}
    written = {match[0]: (match[1], match[2]) for match in ERROR_ROW.findall(tree.text(ERROR_PAGE))}
    for slug in sorted(coded.keys() - written.keys()):
        yield f"{ERROR_PAGE}: no line for `{slug}`; add one"
    for slug in sorted(written.keys() - coded.keys()):
        yield f"{ERROR_PAGE}: `{slug}` is no code of RingwakeError; take the line out"
    for slug in sorted(coded.keys() & written.keys()):
        if coded[slug] != written[slug]:
            yield f"{ERROR_PAGE}: `{slug}` has HTTP {coded[slug][0]} and exit status {coded[slug][1]} in the code"


ALL = [
    rings, modules, file_length, pure_modules, no_foundation, c_modules, thin_mains, proofs, no_left_overs, one_run_loop,
    no_keys, no_workplace, errors_documented,
]
