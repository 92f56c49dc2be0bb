"""The page of findings: what is in it, that all of it is escaped, and that it needs no network."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from elements import Node, Reader
from hostile.evil import as_name, evil_strings, harmless
from report.sample import HARDCODED, MISMATCH, SOURCE, Trouble, finding, insertion, span

from devlint.api import check_text
from devlint.cli import main
from devlint.config.rulebook import RULES_URL
from devlint.model.findings import CellSpan, Confidence, Coverage, Finding, Level, Span, Step
from devlint.report import Summary, render
from devlint.report.html.lanes import MOST, kind, lanes


def html(*findings: Finding, sources: Any = None, **summary: Any) -> str:
    return render("html", findings, Summary(**summary), False, sources or (lambda name: SOURCE))


def read(*findings: Finding, **more: Any) -> Node:
    return Reader(html(*findings, **more)).top


def rows(node: Node) -> list[str]:
    """The rows of source and the notes below them, without lanes."""
    texts = []
    for row in node.all(css="row"):
        kept = (c for c in row.children if isinstance(c, Node) and "lanes" not in c.classes)
        texts.append(" ".join(" ".join(c.text for c in kept).split()))
    return texts


def laned(*steps: tuple[str, str, str, str]) -> Finding:
    """The finding of the sample, with steps at places, each with words, a value and a device."""
    trace = [Step(span(SOURCE, at), words, "", value, device) for at, words, value, device in steps]
    return finding(SOURCE, "x + y", *trace)


TWO = laned(
    ('torch.ones(3, device="cuda")', "made on cuda here", "x", "cuda"),
    ("torch.zeros(3)", "made on cpu here", "y", "cpu"),
)


# --- what is there


def test_a_finding_has_its_rule_message_place_and_confidence() -> None:
    (article,) = read(MISMATCH).all("article")
    heading = article.all("h3")[0].text
    assert heading == "error DEV202 operands-on-other-devices train.py:8:5"
    (link,) = (a for a in article.all("a") if a.attributes["href"].startswith("http"))
    assert link.attributes["href"] == f"{RULES_URL}/operands-on-other-devices.md"
    assert article.all("p", "message")[0].text == "y is on cpu but x is on cuda"
    assert article.all("p", "sure")[0].text == "Confidence 100 %"
    assert article.all("p", "help")[0].text == "Help: make y where x is"


def test_the_head_counts_and_says_what_is_not_shown() -> None:
    coverage = Coverage.of(3, {"calls of `f`": 2})
    page = read(
        MISMATCH, HARDCODED,
        files=4, coverage=coverage, withheld_by={"tests": 2, "less-certain": 1}, fixed=5,
    )  # fmt: skip
    (header,) = page.all("header")
    assert [" ".join(each.text.split()) for each in header.all("li")] == ["1 error", "1 warning"]
    assert [each.text for each in header.all("p")][1:] == [
        "4 files checked",
        "Decided 3 of 5 places where tensors meet, 2 unknown (2 by calls of f).",
        "2 findings withheld by policy (tests): devlint why FILE:LINE says why. 1 less certain "
        "finding: --pedantic.",
        "Fixable: 1 with --fix, 1 more with --unsafe-fixes.",
        "Fixed 5 findings.",
    ]


def test_what_could_not_be_checked_is_told() -> None:
    page = read(failures=(Trouble("a.py", "can't be read"), Trouble("", "no more memory")))
    (failed,) = page.all("section", "failures")
    assert [each.text for each in failed.all("li")] == ["a.py: can't be read", "no more memory"]
    assert page.all("p", "clean")[0].text == "Nothing was checked: 2 problems."


def test_nothing_found_is_said() -> None:
    page = read(files=3)
    assert page.all("p", "clean")[0].text == "All checks passed in 3 files."
    assert not page.all("article")


def test_the_source_is_shown_with_its_notes() -> None:
    (article,) = read(MISMATCH).all("article")
    (source, fix) = article.all("div", "excerpt")
    assert rows(source) == [
        "1 import torch",
        "2",
        '3 x = torch.ones(3, device="cuda")',
        "made on cuda here",
        "4 y = torch.zeros(3)",
        "made on cpu here",
        "5",
        "6",
        "7",
        "8 reported: z = x + y",
        "used together here",
        "9 x.cuda(1)",
    ]
    assert [mark.text for mark in source.all("mark", "hit")] == ["x + y"]
    assert rows(fix) == ["8 - removed: z = x + y", "8 + added: z = x + y.to(x.device)"]
    assert article.all("summary")[0].text == "Fix: move it (unsafe, --fix --unsafe-fixes)"


def test_the_derivation_is_folded() -> None:
    folded = [d for d in read(MISMATCH).all("details") if "open" not in d.attributes]
    (reasons,) = folded
    assert [" ".join(each.text.split()) for each in reasons.all("li")] == [
        "made on cuda here train.py:3:5",
        "made on cpu here train.py:4:5",
        "used together here train.py:8:5",
    ]
    assert reasons.all("p", "sorts")[0].text == "Known by: source.default-device source.named"


def test_far_rows_are_left_out() -> None:
    text = "a\n" + "filler\n" * 30 + "b\n"
    odd = finding(text, "b", Step(span(text, "a"), "made"))
    (source,) = read(odd, sources=lambda name: text).all("div", "excerpt")
    assert rows(source) == [
        "1 a", "made", "2 filler", "3 filler", "\N{MIDLINE HORIZONTAL ELLIPSIS}", "30 filler",
        "31 filler", "32 reported: b",
    ]  # fmt: skip


def test_a_file_that_is_gone_is_said_to_be() -> None:
    (article,) = read(MISMATCH, sources=lambda name: None).all("article")
    assert article.all("p", "gone")[0].text == "The source of train.py can't be read any more."
    assert not article.all(css="row")


def test_a_fix_of_another_text_is_not_shown() -> None:
    (article,) = read(MISMATCH, sources=lambda name: "short\n").all("article")
    assert len(article.all("div", "excerpt")) == 1


def test_steps_of_another_file_are_shown_with_it(tmp_path: Path) -> None:
    other = "m = model.to(dev)\n"
    step = Step(span(other, "model.to(dev)"), "moved here", str(tmp_path / "other.py"), "m", "dev")
    odd = finding(SOURCE, "x + y", step, filename=str(tmp_path / "train.py"))
    sources = {str(tmp_path / "other.py"): other, str(tmp_path / "train.py"): SOURCE}
    (article,) = read(odd, sources=sources.get, root=tmp_path).all("article")
    assert [each.text for each in article.all("p", "where")] == ["other.py", "train.py"]
    assert rows(article)[0] == "1 m = model.to(dev)"
    # Its lane goes on to the finding's own row.
    assert [len(row.all("i")) for row in article.all("div", "row")] == [1] * 4
    assert str(tmp_path) not in article.text


def test_rows_of_a_notebook_are_those_of_its_cell() -> None:
    def placed(found: Span) -> Span:
        cell = CellSpan(3, found.row - 2, found.end_row - 2, 1, 1, 1, 2)
        return Span(*(getattr(found, name) for name in Span.__slots__[:6]), cell)

    odd = finding(SOURCE, "x + y", Step(placed(span(SOURCE, "torch.zeros(3)")), "made"))
    odd = Finding(**{**{n: getattr(odd, n) for n in Finding.__slots__}, "span": placed(odd.span)})
    (source,) = read(odd).all("div", "excerpt")
    assert source.attributes["aria-label"] == "Source of train.py, cell 3"
    assert rows(source)[0] == '1 x = torch.ones(3, device="cuda")'
    assert rows(source)[-1] == "6 reported: z = x + y"


# --- lanes


def drawn(article: Node) -> list[list[tuple[str, str]]]:
    """Beside each row of source, each lane: its classes and what stands on it."""
    return [
        [(" ".join(cell.classes), cell.text) for cell in row.all("i")]
        for row in article.all("div", "row")
        if row.all("code", "src") and row.all("span", "lanes")
    ]


def test_a_lane_runs_from_where_a_value_is_made_to_where_two_collide() -> None:
    (article,) = read(TWO).all("article")
    passing = [("u-cuda d-cuda", ""), ("u-cpu d-cpu", "")]
    assert drawn(article) == [
        [("", ""), ("", "")],
        [("", ""), ("", "")],
        [("d-cuda", "1"), ("", "")],
        [("u-cuda d-cuda", ""), ("d-cpu", "2")],
        passing,
        passing,
        passing,
        [("u-cuda", "\N{MULTIPLICATION X}"), ("u-cpu", "\N{MULTIPLICATION X}")],
        [("", ""), ("", "")],
    ]
    legend = [" ".join(each.text.split()) for each in article.all("ul", "legend")[0].all("li")]
    assert legend == ["1 x cuda", "2 y cpu"]
    assert "x on cuda meets y on cpu" in rows(article)


def test_a_lane_changes_where_a_value_moves() -> None:
    moved = laned(
        ('torch.ones(3, device="cuda")', "made", "x", "cuda"),
        ("torch.zeros(3)", "moved", "x", "`device`"),
    )
    (article,) = read(moved).all("article")
    beside = drawn(article)
    assert beside[2:4] == [[("d-cuda", "1")], [("u-cuda d-device", "1")]]
    assert beside[3 + 4] == [("u-device", "1")]  # nothing collides
    nodes = [node.attributes["class"] for node in article.all("b") if "lane-no" not in node.classes]
    assert nodes == ["stop cuda", "move device", "end device"]
    assert [each.text for each in article.all("span", "chip")][:2] == ["cuda", "device"]


def test_a_lane_that_goes_up_has_the_last_device_where_it_ends() -> None:
    helper = laned(
        ("x.cuda(1)", "made", "x", "cuda"),
        ('torch.ones(3, device="cuda")', "moved", "x", "cpu"),
    )
    (article,) = read(helper).all("article")
    assert drawn(article)[7] == [("u-cpu d-cuda", "1")]


def test_a_step_that_tells_no_place_takes_it_from_the_others() -> None:
    told = laned(
        ("torch.zeros(3)", "made by this call", "y", ""),
        ('torch.ones(3, device="cuda")', "made", "y", "cpu"),
        ("x.cuda(1)", "pinned", "y", ""),
    )
    assert [stop.device for stop in lanes(told)[0].stops] == ["cpu"] * 3
    unknown = laned(("torch.zeros(3)", "given", "y", ""))
    assert [each.text for each in read(unknown).all("span", "chip")] == ["unknown", "unknown"]


def test_where_a_finding_is_the_making_lanes_meet_at_the_last_step() -> None:
    made = 'torch.ones(3, device="cuda")'
    odd = finding(
        SOURCE, made,
        Step(span(SOURCE, made), "made", "", "x", "cuda"),
        Step(span(SOURCE, "torch.zeros(3)"), "made", "", "y", "cpu"),
        Step(span(SOURCE, "x + y"), "they meet here"),
    )  # fmt: skip
    (article,) = read(odd).all("article")
    assert [cell[1] for cell in drawn(article)[7]] == ["\N{MULTIPLICATION X}"] * 2


def test_there_are_not_too_many_lanes() -> None:
    steps = [("torch.zeros(3)", "made", f"v{number}", "cpu") for number in range(20)]
    assert len(lanes(laned(*steps))) == MOST
    assert rows(read(laned(*steps))).count("made") == 20 - MOST


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("cpu", "cpu"), ("cuda:1", "cuda"), ("mps", "mps"), ("xpu:0", "xpu"), ("hpu", "other"),
        ("`args.device`", "device"), ("the device of the module", "device"),
        ("cuda (or cpu where CUDA is absent)", "device"), ("an unknown device", "unknown"),
        ("", "unknown"),
    ],
)  # fmt: skip
def test_devices_have_kinds(device: str, expected: str) -> None:
    assert kind(device) == expected


LOOP = """\
import torch
from torch.utils.data import DataLoader

def evaluate(loader: DataLoader, device):
    table = torch.zeros(10, 10)
    for x, labels in loader:
        labels = labels.to(device)
        table[labels] += 1
"""


def test_the_linter_says_what_moves_and_where_to() -> None:
    (found,) = check_text(LOOP, "a.py")
    assert [(lane.value, lane.devices) for lane in lanes(found)] == [
        ("table", ["cpu"]),
        ("labels", ["cpu", "`device`"]),
    ]


# --- by the command

MOVED = "import torch\n\nx = torch.ones(3).cuda()\ny = x + torch.zeros(3)\n"


def test_the_command_writes_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "a.py").write_text(MOVED, "utf-8")
    monkeypatch.chdir(tmp_path)
    command = ["check", "--isolated", "--no-cache", "--output-format", "html"]
    assert main([*command, str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert main([*command, "-o", "report.html", str(tmp_path)]) == 1
    assert capsys.readouterr().out == ""
    assert (tmp_path / "report.html").read_text("utf-8") == printed
    page = Reader(printed).top
    assert "DEV202" in [article.attributes["data-rule"] for article in page.all("article")]
    assert page.all("nav")[0].all("a")[0].text == "pkg/a.py"
    assert str(tmp_path) not in printed


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--output-format", "html", "-o", "none/report.html"],
            "none/report.html: can't be written",
        ),
        (["--output-format", "html", "-o", "folder"], "folder: can't be written"),
        (["--output-format", "htm"], 'not `htm`; did you mean "html"?'),
    ],
)
def test_a_mistake_is_told_and_nothing_is_lost(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    said: str,
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "kept").write_text("kept", "utf-8")
    (tmp_path / "a.py").write_text(MOVED, "utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["check", "--isolated", "--no-cache", "a.py", *options]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.py", "folder", "kept"]
    assert (tmp_path / "a.py").read_text("utf-8") == MOVED


# --- what it is made of


def test_the_page_reaches_no_network() -> None:
    page = read(MISMATCH, HARDCODED)
    for node in page.all():
        assert not {"src", "srcset", "style", "action", "data", "poster"} & set(node.attributes)
        assert not [name for name in node.attributes if name.startswith("on")]
        assert node.tag not in ("link", "img", "iframe", "object", "embed", "base")
        if node.tag == "a":
            target = node.attributes["href"]
            assert target.startswith(("#", f"{RULES_URL}/"))
    styles = "".join(node.text for node in page.all("style"))
    assert "url(" not in styles
    assert "@import" not in styles


def test_the_policy_allows_the_inline_parts_alone() -> None:
    page = read(MISMATCH)
    (policy,) = (
        meta.attributes["content"]
        for meta in page.all("meta")
        if meta.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    hashes = {
        tag: "'sha256-" + b64encode(sha256(page.all(tag)[0].text.encode()).digest()).decode() + "'"
        for tag in ("style", "script")
    }
    assert policy == (
        f"default-src 'none'; style-src {hashes['style']}; script-src {hashes['script']}; "
        "base-uri 'none'; form-action 'none'"
    )
    assert len(page.all("style")) == len(page.all("script")) == 1
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval", page.text)


def test_the_page_has_landmarks_headings_and_labels() -> None:
    page = read(MISMATCH, HARDCODED)
    assert [len(page.all(tag)) for tag in ("header", "nav", "main", "h1")] == [1] * 4
    assert page.all("html")[0].attributes["lang"] == "en"
    ids = [node.attributes["id"] for node in page.all() if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    for node in page.all():
        for name in ("aria-labelledby", "for"):
            assert node.attributes.get(name, ids[0]) in ids
        if node.tag == "a":
            target = node.attributes["href"]
            assert not target.startswith("#") or target[1:] in ids
    fields = [n for n in page.all() if n.tag in ("input", "select")]
    labelled = {n.attributes.get("for") for n in page.all("label")}
    within = {id(n) for label in page.all("label") for n in label.all()}
    assert all(n.attributes["id"] in labelled or id(n) in within for n in fields)
    levels = [int(node.tag[1]) for node in page.all() if re.fullmatch(r"h\d", node.tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_without_a_script_all_is_visible_and_no_filter() -> None:
    page = read(MISMATCH, HARDCODED)
    hidden = [node for node in page.all() if "hidden" in node.attributes]
    assert [node.attributes.get("id", node.attributes.get("class")) for node in hidden] == [
        "buttons",
        "filter",
    ]


def test_the_page_is_the_same_each_time() -> None:
    assert html(MISMATCH, HARDCODED) == html(HARDCODED, MISMATCH)


def test_filters_offer_what_there_is() -> None:
    elsewhere = finding(SOURCE, "x", filename="src/deep/b.py", level=Level.OFF)
    sure = Finding(
        **{
            **{name: getattr(MISMATCH, name) for name in Finding.__slots__},
            "score": 61, "confidence": Confidence.MEDIUM,
        }
    )  # fmt: skip
    page = read(sure, HARDCODED, elsewhere)
    options = {
        select.attributes["id"]: [option.text for option in select.all("option")]
        for select in page.all("select")
    }
    assert options == {
        "rule": [
            "all",
            "DEV104 hardcoded-device-index (1)",
            "DEV202 operands-on-other-devices (2)",
        ],
        "folder": ["all", "src (1)", "src/deep (1)"],
        "level": ["all", "error (1)", "note (1)", "warning (1)"],
    }
    (slider,) = (n for n in page.all("input") if n.attributes["type"] == "range")
    assert (slider.attributes["min"], slider.attributes["max"]) == ("61", "100")
    assert page.all("article")[-2].all("p", "sure")[0].text == (
        "Confidence 61 %, only a run decides one of the devices"
    )


# --- what others wrote


def hostile(evil: str) -> str:
    """A page in which a string stands wherever one can."""
    text = f"x = '{evil}'\ny = 1\n"
    odd = finding(
        text, "y = 1", Step(span(text, "x"), evil, "", evil, evil),
        Step(span(text, "x"), "", as_name(evil)),
        code=evil, name=evil, message=evil, help=evil, sorts=(evil,),
        filename=f"/a/{as_name(evil)}/b.py",
        fix=insertion(text, "y = 1", f" {evil}"),
    )  # fmt: skip
    summary = Summary(failures=(Trouble(evil, evil),), since=evil, older={(evil, "", ""): 1})
    return render("html", [odd], summary, False, lambda name: text)


@evil_strings
def test_all_that_others_wrote_is_escaped(evil: str) -> None:
    shown, plain = hostile(evil), Reader(hostile("`x` if 'a' # b")).top
    page = Reader(shown).top
    assert {node.tag for node in page.all()} <= {node.tag for node in plain.all()}
    names = {name for node in plain.all() for name in node.attributes}
    assert {name for node in page.all() for name in node.attributes} <= names
    for tag in ("script", "style", "meta", "a", "article", "section", "h2", "h3", "li"):
        assert len(page.all(tag)) == len(plain.all(tag))
    assert harmless(shown.replace("\t", " "))
    assert shown.isascii()


def test_long_lines_are_cut() -> None:
    text = "a = 1; " * 20_000 + "b = 2\n"
    odd = finding(text, "b = 2", fix=insertion(text, "b = 2", "0"))
    page = read(odd, sources=lambda name: text)
    assert [mark.text for mark in page.all("mark")] == ["b = 2"]
    assert all(len(row.text) < 500 for row in page.all("div", "row"))
