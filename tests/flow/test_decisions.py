"""What is decided hangs on sorts, types and nodes: never on words that are written for users, and
never on the text of an expression; and on what something is called only where a row of policy says
so."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import devlint

SOURCES = Path(devlint.__file__).parent
MODULES = [
    *sorted((SOURCES / "flow").rglob("*.py")),
    *sorted((SOURCES / "rules").rglob("*.py")),
    *sorted((SOURCES / "verdict").rglob("*.py")),
    SOURCES / "why" / "unsettled.py",
    SOURCES / "lint.py",
]
WORDS = frozenset(("message", "from_afar", "help", "label", "wording"))
"""The attributes that hold what users read."""
RENDERINGS = frozenset(("render", "unparse", "dump"))
"""Functions that give the text of an expression, as users read it."""
COMPARISONS = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
METHODS = frozenset(
    "endswith startswith removeprefix removesuffix replace find rfind index rindex count split "
    "rsplit splitlines partition rpartition search match fullmatch findall finditer sub "
    "casefold isidentifier islower isupper lower lstrip rstrip strip upper "
    "add get pop setdefault".split()
)
"""What takes a text apart, searches it, or looks something up by it."""


def decisions(source: str) -> Iterator[int]:
    """The rows of a module where the words of a step, a hop or a report, or the text of an
    expression, are looked into, or a value's note is read."""
    tree = ast.parse(source)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "note" and id(node) not in called:
            yield node.lineno
    functions = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
    for scope in (tree, *functions):
        names = set(_named(scope))
        for node in ast.walk(scope):
            if any(_holds_words(each, names) for each in _looked_into(node)):
                yield getattr(node, "lineno", 0)


def _looked_into(node: ast.AST) -> Iterator[ast.expr]:
    """What a node compares, searches or takes apart."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            if any(isinstance(op, COMPARISONS) for op in ops):
                yield from (left, *others)
        case ast.Call(func=ast.Attribute(value=value, attr=attr), args=args) if attr in METHODS:
            yield from (value, *args)
        case ast.Match(subject=subject):
            yield subject
        case ast.Subscript(value=value, slice=index):
            yield from (value, index)


def _named(scope: ast.AST) -> Iterator[str]:
    """The names that stand for words in a scope."""
    for node in ast.walk(scope):
        match node:
            case (
                ast.Assign(targets=[target], value=value)
                | ast.NamedExpr(target=target, value=value)
            ):
                yield from _bound(target, value)


def _bound(target: ast.expr, value: ast.expr) -> Iterator[str]:
    match target, value:
        case ast.Tuple(elts=targets), ast.Tuple(elts=values):
            for one, other in zip(targets, values, strict=False):
                yield from _bound(one, other)
        case _, ast.IfExp(body=body, orelse=orelse):
            yield from _bound(target, body)
            yield from _bound(target, orelse)
        case _, ast.ListComp(elt=part) | ast.SetComp(elt=part) | ast.GeneratorExp(elt=part):
            yield from _bound(target, part)
        case ast.Name(id=name), ast.Call(func=func) if _is_words(func):
            yield name
        case ast.Name(id=name), ast.Attribute() if _is_words(value):
            yield name


def _is_words(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=name) if name in WORDS:
            return True
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in RENDERINGS  # called, or given to `map`
    return False


def _holds_words(node: ast.expr, names: set[str]) -> bool:
    return any(
        _is_words(each) or (isinstance(each, ast.Name) and each.id in names)
        for each in ast.walk(node)
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_nothing_is_decided_by_words(path: Path) -> None:
    rows = sorted(set(decisions(path.read_text(encoding="utf-8"))))
    assert not rows, f"{path}: rows {rows}"


@pytest.mark.parametrize(
    "source",
    [
        'told.message.endswith("on the CPU here")',
        'link.message != "pinned here"',
        "any(hop.message == known.message for known in found)",
        '"here" in report.help',
        'report.message.replace(" here, but", ", but")',
        'any(hop.message.startswith("moved to") for hop in odd.trace)',
        're.search("moved", step.sort.wording)',
        "_MOVED.match(report.message.lower())",
        'text = hop.message\nif text == "moved":\n    pass',
        'def f(hop):\n    return (text := hop.message) and "x" in text',
        'match hop.message:\n    case "moved":\n        pass',
        "TABLE[hop.message]",
        'value.note == "moved"',
        "if value.note:\n    pass",
        "kept = value.note",
        'ir.render(node.right) in ("cpu", "cuda")',
        'ir.render(node) == "x"',
        'ast.unparse(node) != "x"',
        '"device" in render(left)',
        "ir.render(one) == ir.render(other)",
        'ir.render(func).rpartition(".")[2]',
        'ir.render(func).startswith("torch.")',
        "re.search(r'cuda', ir.render(node))",
        "_ABOUT_DEVICES.search(ir.render(node, 200))",
        "_INTEGER.search(name or ir.render(dtype))",
        "text = ir.render(node)\n_ABOUT_DEVICES.search(text)",
        'text, far = ir.render(node), 1\ntext == "x"',
        'text = "" if node is None else ir.render(node)\ntext.endswith("x")',
        "any(name == ir.render(each) for each in nodes)",
        "name in map(ir.render, nodes)",
        "texts = [ir.render(node) for node in nodes]\nname in texts",
        "paths.get(ir.render(node, 80))",
        "seen.add(ir.render(node))",
        "paths[ir.render(node, 80)] = value",
        'place.label == "x"',
        '" " in place.label',
    ],
)
def test_looking_into_words_is_found(source: str) -> None:
    assert list(decisions(source))


@pytest.mark.parametrize(
    "source",
    [
        "step.sort in MOVES",
        "Hop(node, hop.message)",
        'f"in {name}: {report.help}" if report.help else ""',
        "sort.wording.format(device=device)",
        'name.endswith("here")',
        "message = report.from_afar or report.message",
        "uncalled.note(frame, node)",
        "value.trait is Trait.PARAMETER",
        "Step(sort, node, name=ir.render(func))",
        'f"`{ir.render(node)}` is moved"',
        "key(one) == key(other)",
        "last_name(node) in _TYPES",
        'f".to({place.label})"',
    ],
)
def test_writing_words_is_no_decision(source: str) -> None:
    assert not list(decisions(source))


# --- names ---------------------------------------------------------------------------------

READ_TEXTS = {
    "rules/device_compared_with_string.py": "device strings",
    "rules/invalid_device.py": "device strings, and torch's message about them",
    "rules/load_without_map_location.py": "addresses from which torch loads",
}
"""The modules that read some text by a regular expression, and which: none reads a name of the
linted program."""
SPELLING = frozenset(("isupper", "islower", "istitle"))


def spelled(source: str) -> Iterator[int]:
    """The rows of a module that ask how something is spelled."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names) if any(each.name == "re" for each in names):
                yield node.lineno
            case ast.ImportFrom(module="re" | "fnmatch") | ast.Import(names=[ast.alias("fnmatch")]):
                yield node.lineno
            case ast.Attribute(attr=attr) if attr in SPELLING:
                yield node.lineno


@pytest.mark.parametrize("path", MODULES[:-1], ids=lambda path: str(path.relative_to(SOURCES)))
def test_names_are_read_by_policy_alone(path: Path) -> None:
    if path.relative_to(SOURCES).as_posix() not in READ_TEXTS:
        rows = sorted(set(spelled(path.read_text(encoding="utf-8"))))
        assert not rows, f"{path}: rows {rows}: a row of policy/names.toml says what a name means"


def test_those_that_read_texts_do() -> None:
    for name in READ_TEXTS:
        assert list(spelled((SOURCES / name).read_text(encoding="utf-8"))), name


@pytest.mark.parametrize(
    "source",
    [
        "import re",
        "import ast, re",
        "from re import compile",
        "name[:1].isupper()",
        "import fnmatch",
    ],
)
def test_asking_how_a_name_is_spelled_is_found(source: str) -> None:
    assert list(spelled(source))
