"""What a call leads to in another file: told at the call, unless that file tells it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from devlint.config.settings import Settings
from devlint.lint import check, check_source
from devlint.model.findings import Finding
from devlint.model.spans import apply_edits

ENGINE = """
    def evaluate(model, loader):
        for x, y in loader:
            model(x)

    def to_array(x):
        return x.numpy()

    def dice(pred, target):
        return (pred * target).sum()

    def choose(table, index):
        return table[index]

    class Trainer:
        def __init__(self, model, device):
            self.model = model
            self.device = device

        def train(self, loader):
            for x, _ in loader:
                self.model(x.to(self.device))
"""

TRAIN = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader
    from engine import Trainer, choose, dice, evaluate, to_array

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader([(torch.rand(3), 1)])
    model = nn.Linear(3, 3).to(device)
    x = torch.rand(3, 3, device=device)
    index = torch.tensor([0, 1], device=device)
"""


def write(root: Path, files: dict[str, str]) -> None:
    (root / "pyproject.toml").touch()
    for name, text in files.items():
        (root / name).write_text(textwrap.dedent(text), encoding="utf-8")


def lint(root: Path, name: str, settings: Settings | None = None) -> list[Finding]:
    path = root / name
    return check_source(path.read_bytes(), str(path), settings or Settings(pedantic=True))


def found(root: Path, name: str) -> list[str]:
    return [f"{finding.code}:{finding.span.row}" for finding in lint(root, name)]


def train(line: str) -> dict[str, str]:
    """A script whose row 13 is that line."""
    return {"engine.py": ENGINE, "train.py": f"{TRAIN}\n    {line}\n"}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("evaluate(model, loader)", "DEV201:13"),
        ("to_array(model(x))", "DEV205:13"),
        ("dice(model(x), torch.ones(3, 3))", "DEV202:13"),
        ("choose(torch.ones(3), index)", "DEV204:13"),
        ("Trainer(nn.Linear(3, 3), device).train(loader)", "DEV208:13"),
    ],
)
def test_it_is_told_at_the_call(tmp_path: Path, line: str, code: str) -> None:
    write(tmp_path, train(line))
    assert found(tmp_path, "train.py") == [code]
    assert found(tmp_path, "engine.py") == []
    assert lint(tmp_path, "train.py", Settings(follow_imports=False, pedantic=True)) == []


@pytest.mark.parametrize(
    "line",
    [
        "evaluate(nn.Linear(3, 3), loader)",
        "to_array(model(x).detach().cpu())",
        "dice(model(x), torch.ones(3, 3, device=device))",
        "dice(torch.ones(3), torch.ones(3))",
        "choose(x, torch.tensor([0]))",
        "Trainer(model, device).train(loader)",
    ],
)
def test_what_is_right_is_silent(tmp_path: Path, line: str) -> None:
    write(tmp_path, train(line))
    assert found(tmp_path, "train.py") == []


def test_the_way_there_is_shown(tmp_path: Path) -> None:
    write(tmp_path, train("dice(model(x), torch.ones(3, 3))"))
    (finding,) = lint(tmp_path, "train.py")
    assert finding.message == (
        "in `dice` (engine.py), called here: `target` is on cpu but `pred` is on `device`"
    )
    call, there = finding.trace[-2:]
    assert (call.span.row, call.message, call.filename) == (13, "`dice` is called here", "")
    assert (there.span.row, Path(there.filename).name) == (10, "engine.py")
    assert finding.fix is not None
    assert [edit.content for edit in finding.fix.edits] == [", device=device"]


def test_the_fix_changes_the_call_and_not_the_other_file(tmp_path: Path) -> None:
    write(tmp_path, train("to_array(model(x))"))
    (finding,) = lint(tmp_path, "train.py")
    assert finding.code == "DEV205"
    assert finding.fix is not None
    (edit,) = finding.fix.edits
    text = (tmp_path / "train.py").read_text("utf-8")
    assert (text[: edit.span.start].endswith("to_array(model(x)"), edit.content) == (
        True,
        ".detach().cpu()",
    )
    assert finding.help == "copy it to the CPU first: `model(x).detach().cpu()`"


def test_once_for_each_place(tmp_path: Path) -> None:
    write(tmp_path, train("to_array(model(x))\n    to_array(x)"))
    assert found(tmp_path, "train.py") == ["DEV205:13"]


def test_all_that_calls_it_brings_it_from_the_host(tmp_path: Path) -> None:
    helper = """
        import torch

        def pick(data, count):
            inside = data[1]
            rows = (torch.rand(count) * inside.shape[0]).long()
            return torch.index_select(inside, 0, rows)
    """
    use = """
        import torch
        from helper import pick

        def place(data):
            return pick(data, 5).to(data[0].device)

        if __name__ == "__main__":
            place([torch.rand(3, 2) for _ in range(2)])
    """
    write(tmp_path, {"helper.py": helper, "use.py": use})
    assert found(tmp_path, "helper.py") == []
    assert found(tmp_path, "use.py") == []
    (tmp_path / "use.py").write_text("import helper\n")
    assert found(tmp_path, "helper.py") == ["DEV203:6"]


def test_not_where_the_other_file_tells_it(tmp_path: Path) -> None:
    helper = """
        import torch

        def shift(x: torch.Tensor):
            return x + torch.ones(3)
    """
    use = """
        import torch
        from helper import shift

        shift(torch.rand(3, device="cuda"))
    """
    write(tmp_path, {"helper.py": helper, "use.py": use})
    assert found(tmp_path, "helper.py") == ["DEV203:5"]
    assert [code for code in found(tmp_path, "use.py") if code.startswith("DEV2")] == []


def test_a_condition_of_the_caller_holds_for_what_it_passes(tmp_path: Path) -> None:
    use = """
        import torch
        from torch import nn
        from engine import dice

        def run(args):
            x = torch.ones(3)
            if args.cuda:
                x = x.cuda()
            if not args.cuda:
                dice(x, torch.ones(3))
    """
    write(tmp_path, {"engine.py": ENGINE, "use.py": use})
    assert [code for code in found(tmp_path, "use.py") if code.startswith("DEV2")] == []


def test_what_a_condition_has_chosen_is_handed_on_as_that(tmp_path: Path) -> None:
    engine = """
        def shifted(x, shift):
            return x + shift
    """
    use = """
        import torch
        from torch import nn
        from engine import shifted

        class Shift(nn.Module):
            def __init__(self, trained):
                super().__init__()
                self.trained = trained
                self.weight = nn.Parameter(torch.ones(3))
                if self.trained:
                    self.shift = nn.Parameter(torch.zeros(3))
                else:
                    self.shift = torch.zeros(3)

            def forward(self, x):
                if CONDITION:
                    x = shifted(x * self.weight, self.shift)
                return x
    """
    write(tmp_path, {"engine.py": engine, "use.py": use.replace("CONDITION", "self.trained")})
    assert found(tmp_path, "use.py") == []
    write(tmp_path, {"use.py": use.replace("CONDITION", "not self.trained")})
    assert found(tmp_path, "use.py") == ["DEV401:14"]


def test_a_tensor_left_behind_that_a_helper_uses(tmp_path: Path) -> None:
    use = """
        import torch
        from torch import nn
        from engine import choose

        class Noise(nn.Module):
            def __init__(self):
                super().__init__()
                self.betas = torch.linspace(0, 1, 10)

            def forward(self, x: torch.Tensor, t: torch.Tensor):
                return x * choose(self.betas, t)
    """
    write(tmp_path, {"engine.py": ENGINE, "use.py": use})
    (finding,) = lint(tmp_path, "use.py")
    assert (finding.code, finding.span.row) == ("DEV401", 9)
    assert any(Path(step.filename).name == "engine.py" for step in finding.trace)


def test_what_was_brought_to_the_host_for_arguments_that_are_there(tmp_path: Path) -> None:
    use = """
        import torch
        from torch import nn
        from engine import dice

        class Fit(nn.Module):
            def refine(self, model: torch.Tensor, points_host: torch.Tensor):
                return dice(model.detach().cpu(), points_host)
    """
    write(tmp_path, {"engine.py": ENGINE, "use.py": use})
    assert found(tmp_path, "use.py") == []


def test_what_the_other_function_found_out_itself(tmp_path: Path) -> None:
    helper = """
        import torch
        from graphs import Index

        def degrees(edges: torch.Tensor, rows: torch.Tensor | None = None):
            edges = Index(edges)
            count = torch.tensor([1, 2], device=edges.device)
            rows = torch.arange(2) if rows is None else rows
            return rows.repeat_interleave(count)
    """
    use = """
        import torch
        from torch import nn
        from helper import degrees

        class Net(nn.Module):
            def prepare(self, edges: torch.Tensor):
                return degrees(edges.cpu())
    """
    write(tmp_path, {"helper.py": helper, "use.py": use})
    assert found(tmp_path, "use.py") == []


def test_what_a_function_below_it_found_out(tmp_path: Path) -> None:
    boxes = """
        import torch

        class Boxes:
            def __init__(self, rows: torch.Tensor):
                self.rows = rows

            def __getitem__(self, index):
                return Boxes(self.rows[index])

        def _overlap(one: Boxes, other: Boxes):
            shared = torch.min(one.rows, other.rows).prod(dim=1)
            return shared

        def overlap(one: Boxes, other: Boxes):
            shared = _overlap(one, other)
            rest = torch.zeros(1, 2, device=shared.device)
            return torch.where(shared > 0, shared / other.rows, rest)
    """
    use = """
        import torch
        from boxes import Boxes, overlap

        def recall(found, device: torch.device):
            truth = Boxes(torch.ones(4, 4))[1:]
            return overlap(found.boxes, truth).to(device)
    """
    write(tmp_path, {"boxes.py": boxes, "use.py": use})
    assert found(tmp_path, "use.py") == []


def test_a_choice_of_several_may_leave_no_other(tmp_path: Path) -> None:
    helper = """
        def spread(values, index):
            return values.exp() / index.float()
    """
    use = """
        import torch
        from torch import nn
        from helper import spread

        class Attend(nn.Module):
            def __init__(self, mode):
                super().__init__()
                self.mode = mode
                self.query = nn.Linear(3, 3)

            def forward(self, x: torch.Tensor, index: torch.Tensor):
                query = torch.matmul(x, self.query.weight)
                alpha = torch.tensor([0])
                if self.mode == "additive":
                    alpha = torch.add(query, query)
                elif self.mode == "multiplicative":
                    alpha = query * query
                return spread(alpha, index)
    """
    write(tmp_path, {"helper.py": helper, "use.py": use})
    assert found(tmp_path, "use.py") == []


def test_a_function_that_asks_what_it_is_given(tmp_path: Path) -> None:
    helper = """
        import numpy as np
        import torch

        def convert(box):
            is_array = isinstance(box, np.ndarray)
            if is_array:
                return torch.from_numpy(np.asarray(box)).clone()
            return box.clone()

        def plain(box):
            return np.asarray(box)

        def back(box):
            kind = type(box)
            if kind is np.ndarray:
                box = torch.from_numpy(box)
            box = box * 2
            if kind is np.ndarray:
                box = box.numpy()
            return box

        def array(box):
            if torch.is_tensor(box):
                box = box.numpy()
            return box
    """
    use = """
        import torch
        from helper import array, back, convert, plain

        box = torch.rand(3, device="cuda")
        convert(box)
        plain(box)
        back(box)
        array(box)
    """
    write(tmp_path, {"helper.py": helper, "use.py": use})
    assert [code for code in found(tmp_path, "use.py") if code.startswith("DEV2")] == [
        "DEV206:7",
        "DEV205:9",
    ]


def test_an_error_that_is_expected(tmp_path: Path) -> None:
    use = """
        import pytest
        import torch
        from engine import dice

        def check():
            with pytest.raises(RuntimeError):
                dice(torch.ones(3, device="cuda"), torch.ones(3))
    """
    write(tmp_path, {"engine.py": ENGINE, "use.py": use})
    assert [code for code in found(tmp_path, "use.py") if code.startswith("DEV2")] == []


def test_what_is_made_by_a_file_for_data(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "preprocessing.py": """
                import torch

                def shrink(image, size: torch.Tensor):
                    return size.float() / torch.tensor([image.shape[0], image.shape[1]])
                """,
            "track.py": """
                import torch
                from preprocessing import shrink

                def crop(image, size: torch.Tensor):
                    return shrink(image, size)

                def track(image):
                    return shrink(image, torch.ones(2, device="cuda"))
                """,
        },
    )
    assert found(tmp_path, "preprocessing.py") == []
    assert found(tmp_path, "track.py") == ["DEV202:9", "DEV103:9"]


def test_a_condition_that_the_other_file_found_out(tmp_path: Path) -> None:
    """What is on CUDA is so because that file found it there; only a flag is anybody's choice."""
    write(
        tmp_path,
        {
            "losses.py": """
                import torch
                from torch import nn
                from setup import current_index

                def balance(scores, on_gpu):
                    rows = torch.ones(3)
                    if on_gpu:
                        rows = rows.cuda()
                    return scores * rows

                class Loss(nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.on_gpu = current_index() > -1
                        self.mask = torch.ones(3)
                        if self.on_gpu:
                            self.mask = self.mask.cuda()

                    def assign(self, scores):
                        return balance(scores, on_gpu=self.on_gpu)
                """,
            "run.py": """
                import torch
                from losses import Loss, balance

                def run(args, index):
                    torch.cuda.set_device(index)
                    loss = Loss()
                    loss.assign(torch.rand(3).cuda())
                    loss.mask.equal(torch.ones(3))
                    balance(torch.rand(3).cuda(), args.on_gpu)
                """,
        },
    )
    assert [each for each in found(tmp_path, "run.py") if each.startswith("DEV109")] == [
        "DEV109:10"
    ]


def test_it_hangs_on_the_other_file(tmp_path: Path) -> None:
    write(tmp_path, train("to_array(model(x))"))
    path = tmp_path / "train.py"
    checked = check(path.read_bytes(), str(path), Settings(pedantic=True))
    assert len(checked.findings) == 1
    assert str(tmp_path / "engine.py") in checked.consulted
    fixed = ENGINE.replace("x.numpy()", "x.detach().cpu().numpy()")
    (tmp_path / "engine.py").write_text(textwrap.dedent(fixed), encoding="utf-8")
    assert found(tmp_path, "train.py") == []


MADE = """
    import torch

    def mask(n):
        return torch.ones(n, 4)

    def pair(n):
        return torch.ones(n, 4), torch.zeros(n, 4)

    def same(x):
        return x

    class Holder:
        def __init__(self):
            self.mask = torch.ones(3, 4)
"""


@pytest.mark.parametrize(
    ("lines", "code", "message", "fixed"),
    [
        (
            ("return x + mask(3)",),
            "DEV203:7",
            "this tensor is made on cpu here, but meets",
            "mask(3).to(x.device)",
        ),
        (
            ("m = mask(3)", "return x + m"),
            "DEV203:7",
            "`m` is made on cpu here, but meets",
            "mask(3).to(x.device)",
        ),
        (
            ("a, b = pair(3)", "return x + a"),
            "DEV203:8",
            "`a` is made on cpu, but meets",
            "a = a.to(x.device)",
        ),
        (
            ("h = Holder()", "return x + h.mask"),
            "DEV203:8",
            "made on cpu, but meets",
            "h.mask.to(x.device)",
        ),
        (
            ("m = torch.ones(3)", "return x + same(m)"),
            "DEV203:7",
            "is made on cpu here, but",
            "device=x.device",
        ),
    ],
)
def test_a_tensor_that_another_file_makes(
    tmp_path: Path, lines: tuple[str, ...], code: str, message: str, fixed: str
) -> None:
    use = """
        import torch
        from torch import nn
        from made import Holder, mask, pair, same
        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
    """
    body = "".join(f"                {line}\n" for line in lines)
    write(tmp_path, {"made.py": MADE, "use.py": use.rstrip(" ") + body})
    (finding,) = lint(tmp_path, "use.py")
    assert f"{finding.code}:{finding.span.row}" == code
    assert message in finding.message
    assert finding.fix is not None
    assert fixed in apply_edits((tmp_path / "use.py").read_text("utf-8"), finding.fix.edits)


def test_what_an_inherited_method_uses(tmp_path: Path) -> None:
    base = """
        import torch
        from torch import nn

        class Loss(nn.Module):
            def forward(self, pred: torch.Tensor):
                return self.reduce(pred)

            def reduce(self, pred: torch.Tensor):
                return (pred * self.weight).mean()
    """
    use = """
        import torch
        from base import Loss

        class Weighted(Loss):
            def __init__(self):
                super().__init__()
                self.weight = torch.tensor([1.0, 2.0])

        class Registered(Loss):
            def __init__(self):
                super().__init__()
                self.register_buffer("weight", torch.tensor([1.0, 2.0]))

        class Other(Loss):
            def __init__(self):
                super().__init__()
                self.weight = torch.tensor([1.0, 2.0])

            def reduce(self, pred: torch.Tensor):
                return pred.mean()
    """
    write(tmp_path, {"base.py": base, "use.py": use})
    assert found(tmp_path, "use.py") == ["DEV401:8"]
    assert found(tmp_path, "base.py") == []


BASE = """
    import torch
    from torch import nn

    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = torch.ones(3)

    class Centred(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = torch.ones(3)

        def centre(self, x: torch.Tensor):
            return x - self.mean
"""


@pytest.mark.parametrize(
    ("base", "init", "found"),
    [
        ("Shifted", "pass", ["DEV401"]),
        ("Shifted", "self.fc = nn.Linear(3, 3)", ["DEV401"]),
        ("Shifted", "self.mean = nn.Parameter(torch.ones(3))", []),
        ("Centred", "pass", []),  # the other file is told
    ],
)
def test_a_tensor_that_a_base_keeps(tmp_path: Path, base: str, init: str, found: list[str]) -> None:
    net = f"""
        import torch
        from torch import nn
        from base import {base}

        class Net({base}):
            def __init__(self):
                super().__init__()
                {init}

            def forward(self, x: torch.Tensor):
                return x - self.mean
    """
    write(tmp_path, {"base.py": BASE, "net.py": net})
    findings = lint(tmp_path, "net.py")
    assert [finding.code for finding in findings] == found
    assert all(finding.span.row == 12 for finding in findings)


def test_a_backend_that_another_file_starts(tmp_path: Path) -> None:
    start = """
        import torch.distributed as dist

        def start(rank, size):
            dist.init_process_group("nccl", rank=rank, world_size=size)
    """
    train = """
        import torch
        import torch.distributed as dist
        from start import start

        def main(rank, size):
            start(rank, size)
            total = torch.tensor([3.0])
            dist.all_reduce(total)
    """
    write(tmp_path, {"start.py": start, "train.py": train})
    assert [finding.code for finding in lint(tmp_path, "train.py")] == ["DEV210"]


def test_an_annotation_that_names_a_module_of_another_file(tmp_path: Path) -> None:
    block = """
        from torch import nn

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
    """
    net = """
        from torch import nn
        from block import Block

        class Net(nn.Module):
            def __init__(self, blocks: list[Block]):
                super().__init__()
                self.blocks = blocks

            def forward(self, x):
                return self.blocks[0](x)
    """
    write(tmp_path, {"block.py": block, "net.py": net})
    assert [finding.code for finding in lint(tmp_path, "net.py")] == ["DEV402"]


def test_what_is_done_with_another_type_says_nothing_of_this_call(tmp_path: Path) -> None:
    files = {
        "rows.py": """
            import torch

            def is_one(index):
                return isinstance(index, int) or index.ndim == 0

            def number(index, grid):
                if is_one(index):
                    return torch.arange(int(index)) + grid
                return index + grid

            def always(index, grid):
                return torch.arange(4) + grid
        """,
        "use.py": """
            import torch
            from rows import always, number

            def write(count, device):
                index = torch.arange(count, device=device)
                return number(index, index * 2)

            def wrong(count, device):
                index = torch.arange(count, device=device)
                return always(index, index * 2)
        """,
    }
    write(tmp_path, files)
    assert found(tmp_path, "use.py") == ["DEV202:11"]


def test_what_a_function_asks_of_its_argument_is_its_own_affair(tmp_path: Path) -> None:
    areas = """
        import numpy as np
        import torch

        def areas(boxes):
            boxes = torch.from_numpy(boxes) if isinstance(boxes, np.ndarray) else boxes
            return boxes[:, 0] * boxes[:, 1]
    """
    use = """
        import torch
        from areas import areas

        def overlap(batch, labels: torch.Tensor, device):
            return areas(batch["boxes"]) * labels.to(device)[:, None]
    """
    write(tmp_path, {"areas.py": areas, "use.py": use})
    assert found(tmp_path, "use.py") == []


TRAINER = """
    from abc import ABC, abstractmethod

    class Trainer(ABC):
        def __init__(self, net, device="cpu"):
            self.device = device
            self.net = net.to(device)

        def train(self, loader, weight=1.0):
            for x, y in loader:
                x, y = x.to(self.device), y.to(self.device)
                (weight * self.loss(x, y)).backward()

        @abstractmethod
        def loss(self, x, y):
            raise NotImplementedError
"""


@pytest.mark.parametrize("extends", ["", "def train(self, *args): super().train(*args, weight=2)"])
def test_what_an_inherited_method_calls(tmp_path: Path, extends: str) -> None:
    own = f"""
    import torch
    from trainer import Trainer

    class Classifier(Trainer):
        def loss(self, x, y):
            labels = torch.ones(len(x))
            return torch.nn.functional.mse_loss(torch.sigmoid(x), labels)

        {extends}

    class Regressor(Trainer):
        def loss(self, x, y):
            return torch.nn.functional.mse_loss(x, y)
"""
    write(tmp_path, {"trainer.py": TRAINER, "own.py": own})
    assert found(tmp_path, "own.py") == ["DEV203:7"]
    assert found(tmp_path, "trainer.py") == []


def test_a_method_that_takes_the_place_of_a_base_s(tmp_path: Path) -> None:
    own = """
    import torch
    from trainer import Trainer

    class Classifier(Trainer):
        def loss(self, x, y):
            return torch.nn.functional.mse_loss(torch.sigmoid(x), torch.ones(len(x)))

        def train(self, loader):
            for x, y in loader:
                self.loss(x, y).backward()
"""
    write(tmp_path, {"trainer.py": TRAINER, "own.py": own})
    assert found(tmp_path, "own.py") == []


def test_a_generator_that_is_handed_on(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "draw.py": """
                import torch

                def order(count, generator):
                    return torch.randperm(count, generator=generator)

                def own(count):
                    return torch.randperm(count, generator=torch.Generator())
            """,
            "train.py": """
                import torch
                from draw import order, own

                device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
                order(9, torch.Generator(device=device))
                order(9, torch.Generator())
                own(9)
            """,
        },
    )
    assert found(tmp_path, "train.py") == ["DEV207:6"]


def test_the_object_whose_method_is_called_tells_the_device(tmp_path: Path) -> None:
    files = {
        "steps.py": """
            import torch

            class Step:
                def __init__(self, device):
                    self.device = torch.device(device)
                    self.weight = torch.ones(3, device=self.device)

                def apply(self, rows):
                    return rows * self.weight
        """,
        "use.py": """
            import torch
            from steps import Step

            def run():
                step = Step("cuda:1")
                return step.apply(torch.ones(3))
        """,
    }
    write(tmp_path, files)
    (finding,) = lint(tmp_path, "use.py")
    assert finding.fix is not None
    assert [edit.content for edit in finding.fix.edits] == [", device=step.device"]


def test_a_fix_is_the_same_whatever_was_linted_before(tmp_path: Path) -> None:
    files = {
        "lib.py": """
            import torch
            from torch import device as kind

            DEVICE = kind("cuda")

            def mix(x, y):
                a = torch.tanh(x)
                b = torch.tanh(y)
                return torch.matmul(a, b)
        """,
        "first.py": """
            import torch
            from lib import DEVICE

            print(torch.zeros(3, device=DEVICE))
        """,
        "use.py": """
            import torch
            from lib import mix

            mix(torch.zeros(3, 3, device=torch.device("cuda")), torch.ones(3, 3))
        """,
    }
    write(tmp_path, files)

    def helps() -> list[str]:
        return [finding.help for finding in lint(tmp_path, "use.py") if finding.code == "DEV202"]

    alone = helps()
    assert len(alone) == 1
    lint(tmp_path, "first.py")
    assert helps() == alone


def test_a_method_that_a_base_calls_is_fixed_where_that_uses_its_result(tmp_path: Path) -> None:
    files = {
        "base.py": """
            from torch import nn

            class Base(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Linear(3, 3)

                def scaled(self):
                    return self.fc.weight * self.scale()
        """,
        "net.py": """
            import torch
            from base import Base

            class Net(Base):
                def scale(self):
                    return torch.ones(3)

                def run(self):
                    return self.scaled()
        """,
    }
    write(tmp_path, files)
    (finding,) = lint(tmp_path, "net.py")
    assert (finding.code, finding.span.row) == ("DEV203", 7)
    assert finding.fix is not None
    assert finding.fix.filename == str(tmp_path / "base.py")
    assert [edit.content for edit in finding.fix.edits] == [".to(self.fc.weight.device)"]
    assert [step.filename for step in finding.trace if step.filename] == [str(tmp_path / "base.py")]


def test_a_part_of_a_chain_is_called_with_what_the_chain_is(tmp_path: Path) -> None:
    files = {
        "net.py": """
            import torch
            from torch import nn

            class Normalize(nn.Module):
                def __init__(self, mean):
                    super().__init__()
                    self.mean = torch.tensor(mean).view(1, -1, 1, 1)

                def forward(self, img):
                    return img - self.mean
        """,
        "train.py": """
            import torch
            from torch import nn
            from net import Normalize

            net = nn.Sequential(Normalize([0.5, 0.4, 0.3]), nn.Conv2d(3, 4, 3)).to("cuda:0")
            net(torch.rand(1, 3, 6, 6, device="cuda:0"))
            other = nn.Sequential(Normalize([0.5, 0.4, 0.3]), nn.Conv2d(3, 4, 3))
            other(torch.rand(1, 3, 6, 6))
        """,
    }
    write(tmp_path, files)
    found = [finding for finding in lint(tmp_path, "train.py") if finding.code == "DEV202"]
    assert [finding.span.row for finding in found] == [7]
    assert "in `Normalize.forward` (net.py), called here" in found[0].message


def test_the_device_of_a_number_is_read_in_another_file(tmp_path: Path) -> None:
    files = {
        "ramps.py": """
            import torch

            def ramp(x):
                return torch.arange(4, device=x.device)
        """,
        "main.py": """
            import torch
            from ramps import ramp

            image = torch.zeros(2, 4)
            ramp(image.size(-1))
            ramp(image)
        """,
    }
    write(tmp_path, files)
    (finding,) = lint(tmp_path, "main.py")
    assert (finding.code, finding.span.row) == ("DEV303", 6)
    assert "in `ramp` (ramps.py), called here" in finding.message


SAMPLERS = """
    import torch

    BY_NAME = {}
    DECORATED = {}

    def known_as(name):
        def note(cls):
            DECORATED[name] = cls
            return cls
        return note

    class Sampler:
        def __init_subclass__(cls, **options):
            super().__init_subclass__(**options)
            BY_NAME[cls.name] = cls

        def __init__(self, seed):
            self.random = torch.Generator().manual_seed(seed)

    @known_as("even")
    class Even(Sampler):
        name = "even"

    @known_as("odd")
    class Odd(Sampler):
        name = "odd"
"""


@pytest.mark.parametrize("table", ["BY_NAME", "DECORATED"])
@pytest.mark.parametrize("key", ['"even"', "name"])
def test_a_registry_of_classes_in_another_file(tmp_path: Path, table: str, key: str) -> None:
    files = {
        "samplers.py": SAMPLERS,
        "net.py": """
            import torch
            from torch import nn

            class Net(nn.Module):
                def __init__(self, sampler):
                    super().__init__()
                    self.layer = nn.Linear(3, 3)
                    self.sampler = sampler

                def forward(self, x):
                    noise = torch.rand(3, device=x.device, generator=self.sampler.random)
                    return self.layer(x + noise)
        """,
        "main.py": f"""
            import torch
            from net import Net
            from samplers import {table}

            def main(name, device):
                net = Net({table}[{key}](0)).to(device)
                net(torch.ones(3).to(device))
        """,
    }
    write(tmp_path, files)
    found = [(finding.code, finding.span.row) for finding in lint(tmp_path, "main.py")]
    assert found == [("DEV207", 8)]


def test_what_a_module_brings_to_the_host_and_gives_on(tmp_path: Path) -> None:
    files = {
        "counts.py": """
            import torch

            class Counts:
                def __init__(self, size):
                    self.counts = torch.zeros(size)

                def update(self, routes):
                    self.counts.index_add_(0, routes.flatten(), torch.ones(routes.numel()))
        """,
        "main.py": """
            import torch
            from counts import Counts
            from torch import nn

            class Routed(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.layer = nn.Linear(3, 3)

                def forward(self, x):
                    weights, routes = self.layer(x).topk(2)
                    return weights, routes.cpu()

            class Trainer:
                def __init__(self, model):
                    self.model = model.cuda()
                    self.counts = Counts(9)

                def step(self, x):
                    weights, routes = self.model(x.cuda())
                    self.counts.update(routes)

            if __name__ == "__main__":
                Trainer(Routed()).step(torch.ones(4, 3))
        """,
    }
    write(tmp_path, files)
    assert lint(tmp_path, "counts.py") == []


@pytest.mark.parametrize(("made", "told"), [("nn.Linear(3, 2)", True), ("make(3)", False)])
def test_what_is_put_into_a_module_after_it_has_moved(
    tmp_path: Path, made: str, told: bool
) -> None:
    files = {
        "heads.py": f"""
            from torch import nn
            from elsewhere import make

            def swap(net):
                net.head = {made}
        """,
        "net.py": """
            from torch import nn

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.body = nn.Linear(3, 3)
                    self.head = nn.Linear(3, 9)

                def forward(self, x):
                    return self.head(self.body(x))
        """,
        "main.py": """
            import torch
            from heads import swap
            from net import Net

            def main(device):
                net = Net().to(device)
                swap(net)
                net(torch.ones(3).to(device))
        """,
    }
    write(tmp_path, files)
    assert [each.span.row for each in lint(tmp_path, "main.py")] == [9] * told


def test_a_call_leaves_to_a_default_what_another_file_does_with_it(tmp_path: Path) -> None:
    files = {
        "base.py": """
            import torch

            class Loaded:
                @classmethod
                def _read(cls, path, map_location):
                    return torch.load(path, map_location)
        """,
        "tools.py": """
            import torch
            from base import Loaded

            class Net(Loaded):
                @classmethod
                def load(cls, path, map_location=None):
                    return cls(cls._read(path, map_location))

            class Bins:
                def __init__(self, logits, device="cuda"):
                    self.edges = torch.linspace(-20, 20, 255).to(device)
        """,
        "use.py": """
            import torch
            from tools import Bins, Net

            def bins(logits, device):
                logits = logits.to(device)
                return Bins(logits), Bins(logits, device)

            def restore(path):
                return Net.load(path), Net.load(path, "cpu")
        """,
    }
    write(tmp_path, files)
    found = lint(tmp_path, "use.py")
    assert [(each.code, each.span.row) for each in found] == [("DEV110", 7), ("DEV106", 10)]
    assert "not `logits.device`" in found[0].message
    way = [(Path(step.filename).name, step.span.row) for step in found[1].trace]
    assert way == [("tools.py", 8), ("base.py", 7)]


ROWS = """
    import torch
    from torch.utils.data import Dataset

    class Rows(Dataset):
        def __init__(self):
            self.rows = torch.rand(8, 2)

        def __len__(self):
            return 8

        def __getitem__(self, index):
            return self._row(index)

        def _row(self, index):
            return self.rows[index].cuda()

        def all(self):
            return self.rows.cuda()

    def stacked(rows):
        return torch.stack(rows).to("cuda")
"""


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("DataLoader(Rows(), num_workers=2)", ["DEV501:5"]),
        ("DataLoader([1.0, 2.0], collate_fn=stacked, num_workers=2)", ["DEV501:5"]),
        ("DataLoader(Rows(), collate_fn=stacked, num_workers=2)", ["DEV501:5"]),
        ("DataLoader(Rows(), num_workers=0)", []),
        ('DataLoader(Rows(), num_workers=2, multiprocessing_context="spawn")', []),
    ],
)
def test_what_the_workers_of_a_loader_run(tmp_path: Path, call: str, told: list[str]) -> None:
    train = f"""
        from rows import Rows, stacked
        from torch.utils.data import DataLoader

        loader = {call}
    """
    write(tmp_path, {"rows.py": ROWS, "train.py": train})

    assert found(tmp_path, "train.py") == told
    assert not [each for each in found(tmp_path, "rows.py") if each.startswith("DEV501")]


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("spawn(worker, nprocs=4)", ["DEV408:9"]),
        ("spawn(main, nprocs=4)", ["DEV408:9"]),
        ("Process(target=worker, args=(0, 4, net)).start()", ["DEV408:9"]),
        ("worker(0, 1, net)", []),
    ],
)
def test_processes_that_another_file_starts(tmp_path: Path, start: str, told: list[str]) -> None:
    worker = """
        import torch.distributed as dist

        def main(index, net):
            worker(index, 4, net)

        def worker(index, size, net):
            dist.init_process_group("nccl", rank=index, world_size=size)
            net.cuda()
    """
    launch = f"""
        from torch.multiprocessing import Process, spawn
        from worker import main, worker

        {start}
    """
    write(tmp_path, {"worker.py": worker, "launch.py": launch})

    assert [each for each in found(tmp_path, "worker.py") if each.startswith("DEV4")] == told


def test_a_call_settles_what_a_file_only_guesses_by_a_name(tmp_path: Path) -> None:
    files = {
        "build.py": """
            from torch import nn

            def build():
                return nn.Linear(4, 2).to("cuda:0")
        """,
        "evaluate.py": """
            from build import build

            def count(loader):
                net = build()
                return sum(net(x).argmax(1).sum().item() for x in loader)
        """,
        "main.py": """
            import torch
            from torch.utils.data import DataLoader
            from evaluate import count

            count(DataLoader(torch.randn(8, 4), batch_size=2))
        """,
    }
    write(tmp_path, files)
    by_default = Settings()
    assert lint(tmp_path, "evaluate.py", by_default) == []
    (finding,) = lint(tmp_path, "main.py", by_default)
    assert finding.span.row == 6
    assert "in `count` (evaluate.py), called here" in finding.message
