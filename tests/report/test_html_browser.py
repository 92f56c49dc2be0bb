"""The pages in a browser: in both colours, on a phone, by keys, without scripts and a network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, WITHOUT, Browser, browser
from report.sample import HARDCODED, MISMATCH, SOURCE, Trouble, finding, insertion, span

from devlint.api import check_text
from devlint.config.rulebook import RULES_URL
from devlint.model.findings import Finding, Step
from devlint.report import Summary, render

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT)

SECONDS = 2
"""In which a page of 500 findings is open."""

CONTRAST = """
(() => {
  const parse = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return parse(getComputedStyle(document.documentElement).backgroundColor);
  };
  const found = {};
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
    if (!own || ["SCRIPT", "OPTION"].includes(node.tagName) || !node.checkVisibility()) continue;
    const style = getComputedStyle(node);
    const text = light(parse(node.closest("svg") ? style.fill : style.color));
    const ground = light(behind(node));
    const ratio = (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
    if (ratio < 4.5) found[`${node.tagName}.${node.className} ${node.textContent}`] = ratio;
  }
  return found;
})()
"""

DRAWN = """
new Promise((done) => {
  const look = () => document.querySelector("article:not(.drawn)") ? setTimeout(look, 20) : done();
  look();
})
"""

WIDER = """
[...document.querySelectorAll("body *")]
  .filter((node) => node.getBoundingClientRect().right > innerWidth + 1)
  .filter((node) => !node.closest(".scroll"))
  .map((node) => `${node.tagName}.${node.className}`)
"""

PROGRAM = """\
import torch
from torch.utils.data import DataLoader


def evaluate{i}(model, loader: DataLoader, device):
    model.to(device)
    table = torch.zeros(10, 10)
    table.to(device)
    for pictures, labels in loader:
        pictures = pictures.to(device)
        predicted = model(pictures).argmax(dim=1)
        table[labels.to(device), predicted] += 1
        hits = predicted == labels
        print(predicted.numpy(), hits)
    return table
"""


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def written(folder: Path, *findings: Finding, sources: Any = None, **summary: Any) -> Path:
    path = folder / "report.html"
    source = sources or (lambda name: SOURCE)
    path.write_text(render("html", findings, Summary(**summary), False, source), "utf-8")
    return path


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """Findings of several rules and levels, in two folders, with lanes and a clash."""
    found = check_text(PROGRAM.format(i=1), "src/a.py")
    assert len(found) > 3
    others = [*found, MISMATCH, HARDCODED]
    texts = {"src/a.py": PROGRAM.format(i=1), "train.py": SOURCE}
    failures = (Trouble("b.py", "can't be read"),)
    return written(tmp_path, *others, sources=texts.get, files=3, failures=failures)


def shown(tab: Browser) -> list[str]:
    """The rules of the findings that are visible."""
    rules: list[str] = tab.js(
        "[...document.querySelectorAll('article')].filter(a => !a.hidden).map(a => a.dataset.rule)"
    )
    return rules


def choose(tab: Browser, field: str, value: str) -> None:
    tab.js(
        f"document.getElementById({field!r}).value = {value!r};"
        f"document.getElementById({field!r}).dispatchEvent(new Event('input', {{bubbles: true}}))"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read_in_both_colours(tab: Browser, several: Path, scheme: str) -> None:
    tab.open(several, prefers_color_scheme=scheme)
    tab.js("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    ground = tab.js("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground))) > 380) == (scheme == "light")
    assert tab.js(CONTRAST) == {}
    tab.press("t")
    assert tab.js("getComputedStyle(document.body).backgroundColor") != ground
    assert tab.js(CONTRAST) == {}
    tab.js("localStorage.clear()")


def test_nothing_is_wider_than_a_phone(tab: Browser, several: Path) -> None:
    tab.open(several, width=360, height=740)
    tab.js("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    assert tab.js("document.documentElement.scrollWidth") == 360
    assert tab.js(WIDER) == []


def test_keys_lead_through_the_findings(tab: Browser, several: Path) -> None:
    tab.open(several)
    at = "document.activeElement.id"
    for key, expected in ("j", "f1"), ("j", "f2"), ("j", "f3"), ("k", "f2"), ("/", "words"):
        tab.press(key)
        assert tab.js(at) == expected
    tab.press("j")  # it is typed
    assert tab.js(at) == "words"
    tab.press("Escape")
    tab.press("?")
    assert tab.js("document.getElementById('help').open")
    tab.press("Escape")
    assert not tab.js("document.getElementById('help').open")
    tab.js("document.getElementById('keys').click()")
    tab.press("j")
    assert not tab.js(f"{at}.startsWith('f')")
    tab.js("document.getElementById('keys').click()")
    assert tab.console == []


def test_focus_goes_through_the_page_in_its_order(tab: Browser, several: Path) -> None:
    tab.open(several)
    found = []
    for _ in range(11):
        tab.press("Tab")
        found.append(tab.js("document.activeElement.id || document.activeElement.textContent"))
    assert found[:3] == ["Skip to the content", "theme", "show-help"]
    assert found[3:9] == ["rule", "folder", "level", "confidence", "words", "Reset"]
    assert found[9] == "src/a.py"


def test_filters(tab: Browser, several: Path) -> None:
    tab.open(several)
    every = shown(tab)
    choose(tab, "rule", "DEV302")
    assert shown(tab) == ["DEV302"]
    assert tab.js("document.getElementById('count').textContent") == f"1 of {len(every)} shown"
    assert tab.js("document.querySelectorAll('section.file[hidden]').length") == 1
    assert tab.js("document.querySelectorAll('nav li:not([hidden])').length") == 1
    choose(tab, "rule", "")
    choose(tab, "folder", "src")
    assert shown(tab) == every[:-2]
    choose(tab, "folder", "")
    choose(tab, "level", "warning")
    assert "DEV104" in shown(tab)
    assert "DEV202" not in shown(tab)
    choose(tab, "level", "")
    choose(tab, "confidence", "100")
    assert shown(tab) == every[-2:]
    tab.press("j")
    assert tab.js("document.activeElement.dataset.rule") == every[-2]
    tab.js("document.querySelector('button[type=reset]').click()")
    assert tab.js("new Promise((done) => setTimeout(() => done(true)))")
    assert shown(tab) == every
    choose(tab, "words", "FIXED index")
    assert shown(tab) == ["DEV104"]


def test_the_choice_of_colours_is_kept(tab: Browser, several: Path) -> None:
    tab.open(several, prefers_color_scheme="light")
    tab.js("document.getElementById('theme').click()")
    tab.open(several, prefers_color_scheme="light")
    assert tab.js("document.documentElement.dataset.theme") == "dark"
    assert tab.js("document.getElementById('theme').textContent") == "Light"
    tab.js("localStorage.clear()")


def test_without_scripts_all_is_there(tab: Browser, several: Path) -> None:
    tab.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        tab.load(several)
        tree = tab.send("Accessibility.getFullAXTree")["nodes"]
    finally:
        tab.send("Emulation.setScriptExecutionDisabled", value=False)
    said = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in tree
        if not node.get("ignored")
    ]
    roles = [role for role, _ in said]
    assert roles.count("article") == roles.count("heading") - 5 > 4
    assert "search" not in roles
    assert "button" not in roles


def test_a_screen_reader_is_told_of_all(tab: Browser, several: Path) -> None:
    tab.open(several)
    tab.js(DRAWN)
    nodes = tab.send("Accessibility.getFullAXTree")["nodes"]
    said = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node.get("ignored")
    ]
    roles = {role for role, _ in said}
    assert {"banner", "navigation", "main", "search", "article", "region", "status"} <= roles
    unnamed = [
        role
        for role, name in said
        if role in ("link", "button", "combobox", "slider", "searchbox", "article")
        and not name.strip()
    ]
    assert unnamed == []
    # Lanes are drawn for eyes; the text beside them says the same.
    texts = " ".join(name for role, name in said if role == "StaticText")
    assert "comes from a DataLoader here: on the CPU" in texts
    assert "\N{MULTIPLICATION X}" not in texts


HOSTILE = "</script></style><script>window.ran=1</script><img src=x onerror=window.ran=1>"


def test_a_hostile_project_runs_nothing(tab: Browser, tmp_path: Path) -> None:
    evil = f"{HOSTILE}\u202e\x00\x1b]0;x\x07"
    text = f"x = '{evil}'\ny = 1  # {evil}\n"
    odd = finding(
        text, "y = 1", Step(span(text, "x"), evil, "", evil, evil),
        code=evil, name=evil, message=evil, help=evil, filename=f"{HOSTILE}\u202e.py",
        sorts=(evil,), fix=insertion(text, "y = 1", evil),
    )  # fmt: skip
    failures = (Trouble(evil, evil),)
    path = written(tmp_path, odd, sources=lambda name: text, failures=failures)
    tab.open(path)
    assert tab.js("window.ran") is None
    assert tab.js("document.querySelectorAll('script').length") == 1
    assert tab.js("document.querySelectorAll('img').length") == 0
    assert tab.console == []
    assert tab.requests == [path.as_uri()]
    assert "\u202e" not in tab.js("document.documentElement.textContent")


def test_the_policy_stops_what_gets_in_all_the_same(tab: Browser, several: Path) -> None:
    tab.open(several)
    tab.js(
        "const script = document.createElement('script');"
        "script.textContent = 'window.ran = 1'; document.body.append(script);"
        "const image = document.createElement('img');"
        "image.src = 'https://example.invalid/x.png'; document.body.append(image);"
        "document.body.insertAdjacentHTML('beforeend', '<b onclick=\"window.ran = 1\" id=b>b</b>');"
        "document.getElementById('b').click()"
    )
    assert tab.js("window.ran") is None
    assert tab.js("fetch('https://example.invalid/').then(() => 1, () => 0)") == 0
    assert len([said for said in tab.console if "Content Security Policy" in said]) >= 3


def test_links_lead_to_pages_of_rules_alone(tab: Browser, several: Path) -> None:
    tab.open(several)
    links = tab.js("[...document.links].map((link) => link.href)")
    own = several.as_uri()
    assert all(link.startswith((f"{own}#", f"{RULES_URL}/")) for link in links)


def test_a_page_of_500_findings_opens_quickly(tab: Browser, tmp_path: Path) -> None:
    one = PROGRAM.format(i=1)
    found = check_text(one, "part.py")
    count = -(-500 // len(found))
    many = [
        Finding(
            **{
                **{name: getattr(each, name) for name in Finding.__slots__},
                "filename": f"pkg{number % 9}/part{number}.py",
            }
        )
        for number in range(count)
        for each in found
    ]
    assert len(many) >= 500
    path = written(tmp_path, *many, sources=lambda name: one)
    tab.open(path)  # what a browser does once
    taken = min(tab.open(path) for _ in range(3))
    print(f"{len(many)} findings, {path.stat().st_size:,} bytes: open in {taken:.0f} ms")
    assert taken < SECONDS * 1000
    assert tab.js("document.getElementById('count').textContent") == (
        f"{len(many)} of {len(many)} shown"
    )
    # What is read stays where it is while the others are drawn.
    top = "document.getElementById('f300').getBoundingClientRect().top"
    tab.js("document.getElementById('f300').scrollIntoView()")
    before = tab.js(top)
    tab.js(DRAWN)
    assert abs(tab.js(top) - before) < 20
