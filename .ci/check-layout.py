#!/usr/bin/env python3
"""Checks what the compiler cannot: rings, file lengths, forbidden words, keys in the tree, documented errors.

    .ci/check-layout.py              check this checkout; one line for each breach, exit status 1 if there is one
    .ci/check-layout.py --self-test  build a bad tree for each rule and see that the rule finds it
    .ci/check-layout.py --list       name the rules

The rules are in `.ci/layout/rules.py`. Python's standard library is all it needs.
"""

import argparse
import statistics
import sys
from pathlib import Path

sys.dont_write_bytecode = True

from layout import rules, selftest  # noqa: E402
from layout.tree import Tree  # noqa: E402


def check(root: Path) -> int:
    """Prints each breach of each rule; answers the exit status."""
    tree = Tree.of_checkout(root)
    breaches = [(rule.__name__, line) for rule in rules.ALL for line in rule(tree)]
    for name, line in breaches:
        print(f"{line} [{name.replace('_', '-')}]")
    lengths = [tree.line_count(path) for path in tree.files if path.endswith(".swift")]
    if breaches:
        print(f"check-layout: {len(breaches)} breaches; .ci/layout/rules.py says what each rule is for", file=sys.stderr)
        return 1
    median = int(statistics.median(lengths)) if lengths else 0
    print(f"check-layout: {len(rules.ALL)} rules hold in {len(tree.files)} files "
          f"({len(lengths)} of Swift, median {median} lines, longest {max(lengths, default=0)})")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true", help="test the rules themselves")
    parser.add_argument("--list", action="store_true", help="name the rules")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="the checkout")
    arguments = parser.parse_args()
    if arguments.list:
        for rule in rules.ALL:
            print(f"{rule.__name__.replace('_', '-'):24} {(rule.__doc__ or '').splitlines()[0]}")
        return 0
    return selftest.run() if arguments.self_test else check(arguments.root)


if __name__ == "__main__":
    sys.exit(main())
