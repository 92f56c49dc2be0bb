"""A configuration that is made to hold a run up or to break it off ends in one sentence."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver.conftest import BAD_DEVICE, CLEAN, Project

from devlint import torchapi
from devlint.config.configuration import Configuration, parse_toml

SECONDS = 10.0
"""Of the processor's time, for a run; the attacks below took from 8 seconds to hours."""


@pytest.fixture(autouse=True)
def in_a_moment() -> Iterator[None]:
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS


LONG_KEY = ".".join("a" * 500_000)
MANY_PARTS = "devlint.toml: it has a key of more than 30 parts\n"
TOO_DEEP = "devlint.toml: its values are nested too deeply\n"
LARGE_NUMBER = "devlint.toml: it has a number of more than 64 bits\n"
BEHIND_QUOTES = 'a = {b = """x"""", ' + LONG_KEY + " = 1}"

REFUSED = {
    "a long key": (f"{LONG_KEY} = 1", MANY_PARTS),
    "a long key of a table": (f"[{LONG_KEY}]", MANY_PARTS),
    "a long key of strings": (f"{LONG_KEY[:200_000]} = 1".replace("a", "'a'"), MANY_PARTS),
    "a long key with blanks": (f"{LONG_KEY[:200_000]} = 1".replace(".", " . "), MANY_PARTS),
    "a long key in a value": (f"select = [{{{'a.' * 3000}a = 1}}]", MANY_PARTS),
    "a long key behind a string of four quotes": (BEHIND_QUOTES, MANY_PARTS),
    "a string that doesn't end": (
        'a = """' + '\\"""\n' * 100_000,
        "devlint.toml: Unterminated string",
    ),
    "deep tables": ("[torchapi.x]\nof = " + "{a.a.a.a = " * 40 + "1" + "}" * 40, TOO_DEEP),
    "deep lists": ("select = " + "[" * 100 + "]" * 100, TOO_DEEP),
    "a long list": (
        "max-file-size = [" + "'a'," * 9999 + "]",
        "devlint.toml: `max-file-size` must",
    ),
    "a long string": (f"select = '{'a' * 9999}'", "devlint.toml: `select` must be a list"),
    "a long name": (f"{'a' * 9999} = 1", "devlint.toml: unknown key `aaa"),
    "a long selector": (f"select = ['{'a' * 9999}']", "devlint.toml: unknown rule selector `aaa"),
    "a long pattern": (f"exclude = ['{'*/' * 3000}*']", "devlint.toml: `exclude`: `*/*/"),
    "many patterns": (
        f"extend-exclude = {[f'a*{n}' for n in range(1001)]}",
        "devlint.toml: `extend-exclude` has more than 1,000 patterns\n",
    ),
    "many patterns of ignored rules": (
        "[per-file-ignores]\n" + "".join(f"'a*{n}' = ['DEV1']\n" for n in range(1001)),
        "devlint.toml: `per-file-ignores` has more than 1,000 patterns\n",
    ),
    "many rows": (
        "[torchapi]\n" + "".join(f"a{n} = {{effect = 'keep'}}\n" for n in range(1001)),
        "devlint.toml: `torchapi`: there are more than 1,000 rows\n",
    ),
    "a row of many wildcards": (
        f"[torchapi]\n'torch.{'*a' * 11}' = {{effect = 'keep'}}",
        f'devlint.toml: `torchapi`: "torch.{"*a" * 11}": there are more than 10 wildcards in it\n',
    ),
    "a row of a long name": (
        f"[torchapi]\n'{'a' * 9999}' = {{effect = 'keep'}}",
        "devlint.toml: `torchapi`: a name has more than 255 characters\n",
    ),
    "a row of a long value": (
        f"[torchapi]\na = {{effect = '{'a' * 9999}'}}",
        'devlint.toml: `torchapi`: "a": \'aaaaaaaaaaaa...',
    ),
    "a large number": (f"max-file-size = 0x{'f' * 6000}", LARGE_NUMBER),
    "a large number in a row": (
        f"[torchapi]\na = {{effect = 'keep', of = 0x{'f' * 6000}}}",
        LARGE_NUMBER,
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_too_large_is_refused(project: Project, case: str) -> None:
    text, message = REFUSED[case]
    project.write({"devlint.toml": text, "a.py": BAD_DEVICE})
    ran = project.concise(".")
    assert ran.code == 2
    assert ran.err.startswith(f"devlint: {message}")
    assert len(ran.err) < 300


def test_dots_outside_of_keys_are_no_parts() -> None:
    dots, numbers = "a." * 200, [1.5] * 200
    text = f"# {dots}\nlist = {numbers}\ntext = '''\n{dots}'''''\nmore = \"{dots}\"\n"
    assert parse_toml(text, "") == {"list": numbers, "text": f"{dots}''", "more": dots}


def test_a_deep_folder(project: Project) -> None:
    project.write({"devlint.toml": "ignore = ['DEV304']\n"})
    folder = str(project.folder.joinpath(*["a"] * 1500))
    assert Configuration().for_folder(folder).ignore == ("DEV304",)
    assert project.run("--stdin-filename=" + "a/" * 5000).code == 2


def test_a_long_chain_of_files(project: Project) -> None:
    project.write({f"{n}.toml": f"extend = '{n + 1}.toml'\n" for n in range(50)})
    project.write({"50.toml": "", "a.py": BAD_DEVICE})
    ran = project.concise("--config=0.toml", ".")
    assert ran.code == 2
    assert ran.err == "devlint: 0.toml: `extend` leads through more than 20 files\n"
    assert project.found("--config=31.toml", ".") == ["a.py DEV304"]


@pytest.mark.parametrize("target", ["none.toml", "devlint.toml"])
def test_a_link_that_leads_nowhere_is_no_missing_configuration(
    project: Project, target: str
) -> None:
    project.write({"a.py": BAD_DEVICE})
    (project.folder / "devlint.toml").symlink_to(target)
    ran = project.concise(".")
    assert ran.code == 2
    assert ran.err.startswith("devlint: devlint.toml: can't be read: ")


@pytest.mark.parametrize(
    "name", ["torch.*a*a*a*a*a*a*a*a*b", "torch.**.**.**.**.**.**.b", "torch.**.a*a.**.*b"]
)
def test_rows_that_take_long_to_compare(name: str) -> None:
    table = torchapi.load().with_rows({name: {"effect": "keep"}})
    for tail in ("a" * 5000, ".".join("a" * 2000), ".aa" * 2000):
        found = table.get(f"torch.{tail}")
        assert found is None or found.name != name


@pytest.mark.parametrize(
    ("glob", "fits", "others"),
    [
        ("x.a*b*c", ["x.abc", "x.aaabbbccc", "x.abcbc"], ["x.abcb", "x.ab.c", "x.ac"]),
        ("x.**.a.**.b", ["x.q.a.q.b", "x.a.a.a.b", "x.q.a.a.q.b"], ["x.a.q.b", "x.q.a.b"]),
        ("x.**.a*", ["x.q.a", "x.a.q.ab"], ["x.a", "x.q.a.q"]),
        ("x.**", ["x.a", "x.a.b"], ["x"]),
    ],
)
def test_wildcards_in_the_name_of_a_row(glob: str, fits: list[str], others: list[str]) -> None:
    table = torchapi.load().with_rows({glob: {"effect": "keep"}})
    assert all(table.get(name) is not None for name in fits)
    assert not any(map(table.get, others))


def test_the_words_of_many_rows(project: Project) -> None:
    rows = "".join(f"a{n} = {{effect = 'keep'}}\n" for n in range(1000))
    project.write({"devlint.toml": f"[torchapi]\n{rows}", "a.py": f"# {'a' * 3_900_000}\n"})
    assert project.found(".") == []


IGNORED = {
    "open ranges": "[" * 1_000_000,
    "many open ranges": ("[" * 4000 + "\n") * 250,
    "a long line": "*/" * 400_000 + "*",
    "many long lines": ("*/" * 2000 + "*\n") * 50,
    "many ranges": ("[a]" * 1300 + "*\n") * 250,
}


@pytest.mark.parametrize("case", IGNORED)
def test_ignore_files_that_take_long(project: Project, case: str) -> None:
    files = {f"{'a/' * 9}{n}.py": "" for n in range(20)}
    project.write({".gitignore": f"{IGNORED[case]}\n1?.py\n", **files})
    assert len(listed(project)) == 10


def test_an_ignore_file_of_too_many_patterns(project: Project) -> None:
    wild = "".join(f"a*{n}\n" for n in range(2001))
    project.write({".gitignore": wild, "a.py": ""})
    ran = project.run("--show-files", ".")
    reason = "it has more than 2,000 patterns with wildcards"
    assert (ran.code, ran.err) == (2, f"devlint: .gitignore: {reason}\n")
    project.write(
        {"sub/.gitignore": "".join(f"b{n}\n" for n in range(9999)) + "a.py", "sub/a.py": ""}
    )
    assert "sub/a.py" not in project.run("--show-files", "sub").out


@pytest.mark.parametrize("mark", ["\f", "\v", "\r", "\x1c", "\x85", "\u2028"])
def test_only_newlines_end_the_lines_of_an_ignore_file(project: Project, mark: str) -> None:
    ignore = f"\ufeffc.py\r\n# a comment{mark}a.py\nb.py{mark}\n"
    project.write({".gitignore": ignore, "a.py": "", "b.py": "", "c.py": ""})
    ignored = ["b.py"] if mark == "\r" else []
    assert listed(project) == [name for name in ("a.py", "b.py") if name not in ignored]


@pytest.mark.parametrize("through", ["", "missing/../"])
def test_long_chains_of_links(project: Project, through: str) -> None:
    project.write(
        {"p/__init__.py": "", "p/a.py": BAD_DEVICE, "p/b.py": f"from p import x0\n{CLEAN}"}
    )
    for number in range(1500):
        suffix = ".py" if number < 3 or number > 1450 else ""
        target = ".py" if number < 2 or number > 1449 else ""
        link = project.folder / "p" / f"x{number}{suffix}"
        link.symlink_to(f"{through}x{number + 1}{target}")
    chain = Path("p/x0.py")
    ran = project.spawn("--no-cache", "--quiet", str(chain), "--baseline=p/x2.py")
    assert ran.code == 2
    assert "Traceback" not in ran.err
    ran = project.concise("--fix", ".")
    assert "p/a.py:3:18: DEV304" in ran.out
    assert "Traceback" not in ran.err


def test_each_link_of_a_chain(project: Project) -> None:
    project.write({"p/__init__.py": "", "p/a.py": f"import p.x0\n{BAD_DEVICE}"})
    for number in range(1000):
        (project.folder / "p" / f"x{number}.py").symlink_to(f"x{number + 1}.py")
    assert project.found("p/a.py") == ["p/a.py DEV304"]
    assert project.concise("p").err.count("symbolic links") > 900


def test_a_folder_that_is_called_like_a_module(project: Project) -> None:
    project.write({"helper.py/x": "", "a.py": f"import helper\n{BAD_DEVICE}"})
    ran = project.concise("a.py")
    assert (ran.code, ran.err) == (1, "")


def listed(project: Project) -> list[str]:
    return project.run("--show-files", ".").out.splitlines()
