"""The tree that is checked: which files it has, and what is in them."""

import json
import re
import subprocess
from functools import cached_property
from pathlib import Path


class Tree:
    """The files of a checkout that are, or would be, in git."""

    def __init__(self, root: Path, files: list[str], package: dict | None = None):
        self.root = root
        self.files = sorted(files)
        self._package = package
        self._texts: dict[str, str] = {}

    @classmethod
    def of_checkout(cls, root: Path) -> "Tree":
        """Tracked files and those that are new and not ignored."""
        listing = subprocess.run(
            ["git", "-c", f"safe.directory={root}", "-C", str(root), "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"],
            check=True, capture_output=True).stdout.decode()
        names = [name for name in listing.split("\0") if name]
        return cls(root, [name for name in names if (root / name).is_file()])

    @cached_property
    def package(self) -> dict:
        """The manifest, as `swift package dump-package` prints it."""
        if self._package is not None:
            return self._package
        printed = subprocess.run(
            ["swift", "package", "dump-package"], cwd=self.root, check=True, capture_output=True).stdout
        return json.loads(printed)

    def text(self, path: str) -> str:
        """What is in a file; bytes that are not UTF-8 become replacement characters."""
        if path not in self._texts:
            self._texts[path] = (self.root / path).read_bytes().decode("utf-8", "replace")
        return self._texts[path]

    def line_count(self, path: str) -> int:
        return len(self.text(path).splitlines())

    def swift(self, *prefixes: str) -> list[str]:
        """The Swift files under any of the folders."""
        return [path for path in self.files if path.endswith(".swift") and path.startswith(prefixes)]


_COMMENT_OR_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def code_only(text: str) -> str:
    """Swift source with the contents of comments and of one-line strings taken out; line numbers stay."""

    def blank(match: re.Match) -> str:
        return '""' if match[0].startswith('"') else "\n" * match[0].count("\n")

    return _COMMENT_OR_STRING.sub(blank, text)


def is_comment(line: str) -> bool:
    """Whether the line is an inline comment (`//`; a `///` documents, it does not give a reason)."""
    stripped = line.strip()
    return stripped.startswith("//") and not stripped.startswith("///")
