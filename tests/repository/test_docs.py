"""The documentation holds together in a clone, before anything is built."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest
from docs.check import problems, public_names
from docs.write_schema import result_classes

from suffice.audit.record_seal import RECORD_VERSION
from suffice.batch.store import SCHEMA_VERSION

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md")) + sorted(DOCS.glob("[!_]*/*.md"))
TEXTS = [*sorted(ROOT.glob("*.md")), *PAGES]

_CODE = re.compile(r"^```.*?^```|^    [^\n]*$|`[^`\n]*`|<!--.*?-->", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_IMAGE = re.compile(r"^```\{(?:image|figure)\} (\S+)", re.MULTILINE)
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.DOTALL | re.MULTILINE)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def slug(title: str) -> str:
    """A heading's address, as the renderers of Markdown make it."""
    words = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", title).strip().lower())
    return words.replace(" ", "-")


def titles(path: Path) -> list[str]:
    return re.findall(
        r"^#+ (.+)$", _CODE.sub(lambda m: "" if "\n" in m[0] else m[0], text_of(path)), re.M
    )


@cache
def in_clone() -> set[Path]:
    """The files that git has, or would add: what a clone will hold."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    return {ROOT / name for name in listed.decode().split("\0") if name}


def made_by_the_build(target: Path) -> bool:
    return target.is_relative_to(DOCS / "gallery")


@pytest.mark.parametrize("page", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_pictures_lead_to_what_a_clone_holds(page):
    files = in_clone()
    found = _LINK.findall(_CODE.sub("", text_of(page))) + _IMAGE.findall(text_of(page))
    for address in found:
        if re.match(r"[a-z]+:", address):
            continue
        path, _, anchor = address.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target in files or made_by_the_build(target), f"{address} is not in the clone"
        if anchor:
            assert anchor in map(slug, titles(target)), f"{address}: no such heading"


def test_pictures_are_shown_somewhere():
    shown = "".join(map(text_of, TEXTS))
    for path in in_clone():
        if path.is_relative_to(DOCS / "pictures"):
            assert path.name in shown, f"no page shows {path.relative_to(ROOT)}"


def test_every_page_is_in_one_toctree():
    entries = []
    for page in PAGES:
        for body in _TOCTREE.findall(text_of(page)):
            names = [line for line in body.splitlines() if line and not line.startswith(":")]
            entries += [(page.parent / f"{name}.md").resolve() for name in names]
    entries = [entry for entry in entries if not made_by_the_build(entry)]
    assert len(entries) == len(set(entries))
    assert set(entries) == set(PAGES) - {DOCS / "index.md"}


def test_no_two_pages_have_the_same_title():
    included = "```{include}"  # its title is another file's
    first = [titles(page)[0] for page in PAGES if not text_of(page).startswith(included)]
    assert len(set(first)) == len(first)


def test_verdicts_are_counted_as_the_results_have_them():
    results = text_of(ROOT / "experiments" / "RESULTS.md")
    counted = {"all": (0, 0)}
    for name, body in re.findall(
        r"^`python -m experiments (\S+)`$(.*?)(?=^## |\Z)", results, re.S | re.M
    ):
        hold, fail = (
            len(re.findall(rf"\| {verdict}(?: \[\d+\])? \|$", body, re.M))
            for verdict in ("yes", r"\*\*no\*\*")
        )
        counted[name] = hold, fail
        counted["all"] = counted["all"][0] + hold, counted["all"][1] + fail
    page = text_of(DOCS / "theory" / "reproduced.md")
    told = re.findall(r"^\| `?([\w-]+)`? \|[^|]*\| (\d+) \| (\d+) \|$", page, re.M)
    assert {name: (int(hold), int(fail)) for name, hold, fail in told} == counted


def test_every_public_name_is_in_the_reference_once():
    written = "".join(text_of(page) for page in (DOCS / "reference").glob("*.md"))
    modules = re.findall(r"automodule:: (suffice\.\w+)\n +:members:\n", written)
    names = re.findall(r"auto(?:class|function|exception):: (suffice\.\w+)$", written, re.M)
    assert sorted(modules + names) == sorted(n for n in public_names() if n.count(".") == 1)


def test_the_format_versions_that_are_promised_are_those_of_the_code():
    text = text_of(DOCS / "reference" / "stability.md")
    promised = dict(
        re.findall(r"`(?:suffice\.)?([\w.]+)`(?: of its class)? \| (.+) \|$", text, re.M)
    )
    assert promised["load"] == str(SCHEMA_VERSION)
    assert promised["audit.verify"] == str(RECORD_VERSION)
    raised = [c for c in result_classes() if c.version > 1]
    assert promised["from_json"] == "`version` of the class: 1; 2 for " + ", ".join(
        f"`{c.__name__}`" for c in sorted(raised, key=lambda c: c.__name__)
    )


def test_every_directive_of_the_reference_names_something():
    written = "".join(text_of(page) for page in (DOCS / "reference").glob("*.md"))
    names = re.findall(r"auto(?:class|function|exception|module):: (suffice[\w.]*)$", written, re.M)
    assert len(names) > 100
    for name in names:
        assert resolve_name(name) is not None


@pytest.mark.parametrize("name", ["ARCHITECTURE", "CONTRIBUTING", "CHANGELOG"])
def test_links_of_pages_from_the_root_hold_in_the_site(name):
    """The site includes them in `docs/reference`, and rewrites paths that begin with docs/."""
    text = _CODE.sub("", text_of(ROOT / f"{name}.md"))
    links = [link for link in _LINK.findall(text) if "://" not in link]
    here = DOCS / "reference"
    if ":relative-docs: docs/" in text_of(here / f"{name}.md"):
        links = [link for link in links if not link.startswith("docs/")]
    assert [link for link in links if not (here / link.partition("#")[0]).exists()] == []


def test_nothing_that_is_built_from_needs_another_host():
    for path in (*DOCS.glob("_static/*"), *DOCS.glob("_templates/*"), DOCS / "conf.py"):
        assert "//" not in re.sub(r"# .*", "", text_of(path)), path


def test_a_built_site_is_looked_through(tmp_path):
    names = "".join(f'<p id="{name}">' for name in public_names())
    (tmp_path / "one.html").write_text(f'{names}<a href="two.html#here">', encoding="utf-8")
    (tmp_path / "two.html").write_text('<p id="here"><img src="dot.png">', encoding="utf-8")
    (tmp_path / "dot.png").write_bytes(b"")
    (tmp_path / "plain.css").write_text("p { color: red }", encoding="utf-8")
    assert list(problems(tmp_path)) == []


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ('<script src="https://cdn.example/x.js">', "loads https://cdn.example/x.js"),
        ('<link rel="stylesheet" href="//cdn.example/x.css">', "loads //cdn.example/x.css"),
        ('<p style="background: url(https://x.example/y.png)">', "loads https://x.example/y.png"),
        ('<img src="gone.png">', "shows gone.png, which is not there"),
        ('<a href="gone.html">', "links to gone.html, which is not there"),
        ('<a href="#gone">', "links to #gone, which is not there"),
        (
            '<a href="../a_thumb.png"><img src="../a_thumb.png"></a>',
            "links a thumbnail to ../a_thumb.png: it leaves its card, over others",
        ),
    ],
)
def test_what_is_wrong_with_a_built_site_is_said(tmp_path, page, says):
    (tmp_path / "one.html").write_text(page, encoding="utf-8")
    (tmp_path / "bad.css").write_text('@import "https://fonts.example/a.css";', encoding="utf-8")
    found = list(problems(tmp_path))
    assert f"one.html {says}" in found
    assert "bad.css loads https://fonts.example/a.css" in found
    assert "the reference has no suffice.Explainer" in found
    assert "the reference has no suffice.audit.roles" in found


# The page that says where each definition is, and which test holds the code to it.


PAGE = (ROOT / "docs" / "theory" / "definitions.md").read_text(encoding="utf-8")


def test_files_and_tests_that_it_names_exist():
    named = re.findall(r"`((?:src|tests)/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len(named) > 30
    for path, test in named:
        text = (ROOT / path).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in text, f"{path}::{test}"


def test_everything_that_the_paper_numbers_is_there():
    for kind, last in (("Definition", 4), ("Theorem", 2), ("Remark", 3), ("Proposition", 4)):
        for number in range(1, last + 1):
            both = rf"{kind}s? (?:\d and )?{number}\b"
            assert re.search(both, PAGE), f"{kind} {number}"
