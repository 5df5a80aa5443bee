"""`Documentation/handlers.md`: its snippets are the examples', to the letter."""

import re
import textwrap

import pytest

from support.programs import ROOT

GUIDE = ROOT / "Documentation" / "handlers.md"
# The file that a snippet is from, and the snippet.
SNIPPETS = re.findall(r"^`(Examples/\S+)`:\n\n```\w+\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


def lines(text: str) -> list[str]:
    """Its lines, however far they are indented as a whole."""
    return textwrap.dedent(text).strip("\n").splitlines()


def test_every_snippet_says_where_it_is_from() -> None:
    assert len(SNIPPETS) == GUIDE.read_text().count("\n```") // 2 > 0


@pytest.mark.parametrize(("file", "snippet"), SNIPPETS)
def test_a_snippet_is_in_its_example(file: str, snippet: str) -> None:
    example = (ROOT / file).read_text().splitlines()
    count = len(lines(snippet))
    assert any(lines("\n".join(example[at : at + count])) == lines(snippet) for at in range(len(example)))


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)\)", GUIDE.read_text()))
def test_what_it_links_to_is_there(target: str) -> None:
    assert (GUIDE.parent / target).exists()
