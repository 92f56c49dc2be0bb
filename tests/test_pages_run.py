"""What the rule pages tell happens: their blocks run on two emulated CUDA devices.

- An `error` block of a rule at level error raises what its page quotes in a `text` block, where a
  line that ends in ` ...` is the start of the raised one. Or it raises nothing and has another
  outcome than its twin, the block `fixed` after it or else the next block `ok` of its section:
  something that both made is elsewhere or has another value, or something else is printed.
- Every `ok` and `fixed` block of every page runs to its end.
- What a block imports and nobody has installed skips it.

A copy to the host that isn't waited for arrives as late as it may (`late_copies`).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from groups import groups_end_last
from late_copies import LateCopies
from torch import nn

from devlint import emulate
from devlint.config.rulebook import Block, Page, pages
from devlint.model.findings import Level


@dataclass(frozen=True)
class Outcome:
    """What can be seen of a program after its run."""

    values: Mapping[str, str]
    """Of each global name: where its tensors are, or its value."""
    printed: str
    error: Exception | None

    @property
    def raised(self) -> str:
        """The first line of the error, as Python prints it."""
        text = self.error.msg if isinstance(self.error, SyntaxError) else str(self.error)
        return f"{type(self.error).__name__}: {text}".split("\n", 1)[0]

    def differs_from(self, other: Outcome) -> bool:
        common = self.values.keys() & other.values.keys()
        return self.printed != other.printed or any(
            self.values[name] != other.values[name] for name in common
        )


Runner = Callable[[Block], Outcome]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    """Runs a block as a program of its own, in an empty folder."""

    def run_block(block: Block) -> Outcome:
        path = tmp_path / block.kind / "example.py"
        path.parent.mkdir()
        path.write_text(block.text, encoding="utf-8")
        monkeypatch.chdir(path.parent)
        return _run(path)

    threads = torch.get_num_threads()
    yield run_block
    torch.set_num_threads(threads)


def _run(path: Path) -> Outcome:
    space: dict[str, object] = {"__name__": "__main__"}
    printed = io.StringIO()
    error: Exception | None = None
    late = LateCopies()
    with (
        emulate("cuda", 2, transfers=late),
        late.installed(),
        redirect_stdout(printed),
        groups_end_last(),
    ):
        torch.manual_seed(0)
        try:
            # Bytes, as Python reads a file: what their first line declares counts.
            exec(compile(path.read_bytes(), str(path), "exec"), space)
        except ModuleNotFoundError as missing:
            pytest.skip(f"{missing.name} isn't installed")
        except Exception as raised:
            error = raised
        seen = {name: _seen(value) for name, value in space.items() if name != "__name__"}
        space.clear()
    values = {name: value for name, value in seen.items() if value is not None}
    return Outcome(values, printed.getvalue(), error)


def _seen(value: object) -> str | None:
    if isinstance(value, torch.Tensor):
        return f"tensor on {value.device}"
    if isinstance(value, nn.Module):
        state = (*value.named_parameters(), *value.named_buffers())
        return f"module of {[(name, str(tensor.device)) for name, tensor in state]}"
    return repr(value) if isinstance(value, bool | int | str | torch.device) else None


def wrong(page: Page, block: Block, twin: Block | None, run: Runner) -> str | None:
    """What is wrong with an `error` block; None where it does what its page tells."""
    outcome = run(block)
    if outcome.error is not None:
        quoted = [b.text.splitlines() for b in page.blocks if b.language == "text"]
        if any(_quotes(line, outcome.raised) for lines in quoted for line in lines):
            return None
        return f"raises what the page doesn't quote: {outcome.raised}"
    if twin is None:
        return "raises nothing, and no block `fixed` or `ok` of its section comes after it"
    good = run(twin)
    if good.error is None and outcome.differs_from(good):
        return None
    return f"raises nothing, and its outcome is that of the block in row {twin.row}: {outcome}"


def _quotes(line: str, raised: str) -> bool:
    return raised.startswith(line[:-4]) if line.endswith(" ...") else raised == line


def python_blocks(page: Page) -> Iterator[tuple[Block, Block | None]]:
    """Each block with its twin, if it has one."""
    for section in page.sections:
        python = [block for block in section.blocks if block.is_python]
        for index, block in enumerate(python, start=1):
            after = python[index:]
            good = after if after and after[0].kind == "fixed" else []
            good = good or [other for other in after if other.kind == "ok"]
            yield block, next(iter(good), None)


PAGES = list(pages().values())
BAD = [
    pytest.param(page, block, twin, id=f"{page.name}:{block.row}")
    for page in PAGES
    if page.level is Level.ERROR
    for block, twin in python_blocks(page)
    if block.kind == "error"
]
GOOD = [
    pytest.param(block, id=f"{page.name}:{block.row}")
    for page in PAGES
    for block, _ in python_blocks(page)
    if block.kind in ("ok", "fixed")
]


@pytest.mark.parametrize(("page", "block", "twin"), BAD)
def test_an_error_block_goes_wrong_as_the_page_tells(
    page: Page, block: Block, twin: Block | None, run: Runner
) -> None:
    found = wrong(page, block, twin, run)
    if found is not None:
        pytest.fail(f"{page.path}:{block.row}: {found}", pytrace=False)


@pytest.mark.parametrize("block", GOOD)
def test_a_good_block_runs(block: Block, run: Runner) -> None:
    error = run(block).error
    if error is not None:
        raise error


MOVED = "import torch\n\nx = torch.zeros(2)\nx.to('cuda')\n"
RAISES = 'raise ValueError("no such device\\nbut others")\n'


@pytest.mark.parametrize(
    ("error", "after", "told"),
    [
        (MOVED, "", "no block `fixed` or `ok` of its section"),
        (MOVED, f"```python ok\n{MOVED}```\n", "its outcome is that of the block in row 8"),
        (MOVED, "```python ok\ny = 1\n```\n", "its outcome is that of"),
        (MOVED, f"## Else\n```python ok\n{MOVED.replace('x.to', 'x = x.to')}```\n", "no block"),
        (MOVED, f"```python ok\n{MOVED.replace('x.to', 'x = x.to')}```\n", None),
        (MOVED, f"```python fixed\n{MOVED}```\n```python ok\nx = 1\n```\n", "outcome is that"),
        ("x = True\n", "```python ok\nx = 1\n```\n", None),
        ("print(1)\n", "```python ok\nprint(2)\n```\n", None),
        ("x = 1.0\n", "```python ok\nx = 2.0\n```\n", "outcome is that"),
        ("x = 1\n", f"```python ok\nx = 2\n{RAISES}```\n", "outcome is that"),
        (RAISES, "```text\nValueError: no such device\n```\n", None),
        (RAISES, "```text\nValueError: no such ...\n```\n", None),
        (RAISES, "```text\nValueError: no such\n```\n", "ValueError: no such device"),
        (RAISES, "```text\nno such device\n```\n", "ValueError: no such device"),
        (RAISES, "```\nValueError: no such device\n```\n", "ValueError: no such device"),
    ],
)
def test_a_block_that_does_not_go_wrong_is_told(
    error: str, after: str, told: str | None, run: Runner
) -> None:
    body = f"```python error\n{error}```\n{after}"
    page = Page(Path("a.md"), "DEV999", "a", "A", Level.ERROR, "never", "0.1", body, 1)
    block, twin = next(python_blocks(page))
    found = wrong(page, block, twin, run)
    assert found is None if told is None else told in str(found)
