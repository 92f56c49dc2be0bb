"""What silently works on the CPU: each finding fails on an accelerator, and nothing else is found.

A case is a program of its own that makes `net` and `inputs`. It runs in a thread, so that no file
of the tests is among those at work. Then it is moved to an emulated accelerator: what is found has
to fail there, and what isn't has to run.
"""

from __future__ import annotations

import re
import runpy
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

import devlint

torch = pytest.importorskip("torch")

from devlint.runtime.guard import DeviceMismatchError, structure  # noqa: E402


@pytest.fixture(autouse=True)
def _no_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests have compiled models, and then no call is watched any more."""
    compiler = sys.modules.get("torch._dynamo.eval_frame")
    if compiler is not None:
        monkeypatch.setattr(compiler, "cached_backends", {})


_HEAD = """\
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
"""


def _run(folder: Path, source: str, last: str) -> Any:
    path = folder / f"case_{len(list(folder.iterdir()))}.py"
    path.write_text(_HEAD + dedent(source) + dedent(last))
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(runpy.run_path, str(path)).result()


_CALL = "out = net(*inputs)\n"
_GUARDED = "from devlint.runtime.guard import guard\nwith guard():\n" + indent(_CALL, "    ")
_MOVED = """
net.to("cuda")
if "prepared" in globals():
    prepared(net)
inputs = [i.to("cuda") if isinstance(i, torch.Tensor) and not globals().get("on_host") else i
          for i in inputs]
out = net(*inputs)
"""

REGISTERED = {
    "list": """
        class Stack(nn.Module):
            def __init__(self, n=3):
                super().__init__()
                self.layers = [nn.Linear(8, 8) for _ in range(n)]

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x

        net, inputs = Stack(), [torch.rand(2, 8)]
    """,
    "appended": """
        class Block(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.inner = nn.Linear(width, width)

            def forward(self, x):
                return F.relu(self.inner(x))

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(4, 8)
                self.blocks = []
                for _ in range(2):
                    block = Block(8)
                    self.blocks.append(block)

            def forward(self, x):
                x = self.first(x)
                for i, block in enumerate(self.blocks):
                    x = x + block(x)
                return x

        net, inputs = Net(), [torch.rand(2, 4)]
    """,
    "dict": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.stem = nn.Linear(4, 8)
                self.heads = {"a": nn.Linear(8, 2), "b": nn.Sequential(nn.Linear(8, 3))}

            def forward(self, x):
                x = self.stem(x)
                return {name: head(x) for name, head in self.heads.items()}

        net, inputs = Net(), [torch.rand(2, 4)]
    """,
    "local list": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                layers = []
                for _ in range(2):
                    layers.append(nn.Linear(8, 8))
                self.layers = layers

            def forward(self, x):
                return self.layers[1](self.layers[0](x))

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
    "nested": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.pairs = [(nn.Linear(8, 8), nn.LayerNorm(8)) for _ in range(2)]

            def forward(self, x):
                for linear, norm in self.pairs:
                    x = norm(linear(x))
                return x

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
    "below another": """
        class Inner(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = list(nn.Linear(8, 8) for _ in range(2))

            def forward(self, x):
                return sum(part(x) for part in self.parts)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Sequential(nn.Linear(8, 8), Inner())

            def forward(self, x):
                return self.inner(x)

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
}

REGISTERED |= {
    "parameters": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.weights = [nn.Parameter(torch.rand(8, 8)) for _ in range(2)]
                self.lin = nn.Linear(8, 8)

            def forward(self, x):
                x = self.lin(x)
                for weight in self.weights:
                    x = x @ weight
                return x

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
    "a dict of parameters": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(8, 8)
                self.scales = {}
                for name in ("a", "b"):
                    self.scales[name] = nn.Parameter(torch.ones(8))

            def forward(self, x):
                return self.lin(x) * self.scales["a"] + self.scales["b"]

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
    "made by a helper": """
        class Net(nn.Module):
            def __init__(self, n=2):
                super().__init__()
                self._build(n)

            def _build(self, n):
                self.lin = nn.Linear(8, 8)
                self._build_layers(n)

            def _build_layers(self, n):
                self.layers = [nn.Linear(8, 8) for _ in range(n)]

            def forward(self, x):
                x = self.lin(x)
                for layer in self.layers:
                    x = layer(x)
                return x

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
    "filled by a helper": """
        class Net(nn.Module):
            def __init__(self, n=2):
                super().__init__()
                self.lin = nn.Linear(8, 8)
                self.layers = []
                for _ in range(n):
                    self._add(8)

            def _add(self, width):
                self.layers.append(nn.Linear(width, width))

            def forward(self, x):
                x = self.lin(x)
                for layer in self.layers:
                    x = layer(x)
                return x

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
    "another name than self": """
        class Net(nn.Module):
            def __init__(this):
                super().__init__()
                this.layers = [nn.Linear(8, 8) for _ in range(2)]

            def forward(this, x):
                for layer in this.layers:
                    x = layer(x)
                return x

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
    "a list of one": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(8, 8)
                self.layers = [nn.Linear(8, 8)]

            def forward(self, x):
                x = self.first(x)
                for layer in self.layers:
                    x = layer(x)
                return x

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
    "a dict of one": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(8, 8)
                self.heads = {"a": nn.Linear(8, 2)}

            def forward(self, x):
                return self.heads["a"](self.first(x))

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
}

PLAIN = {
    "made by a helper's helper": """
        class Net(nn.Module):
            def __init__(this):
                super().__init__()
                this.lin = nn.Linear(8, 8)
                this._prepare()

            def _prepare(this):
                this._table()

            def _table(this):
                this.table = torch.ones(8)

            def forward(this, x):
                return this.lin(x) + this.table

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
    "with layers of a list behind it": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 4)
                self.scale = torch.arange(4) / 4
                self.blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

            def forward(self, x):
                x = self.body(x) + self.scale
                for block in self.blocks:
                    x = block(x)
                return x

        net, inputs = Net(), [torch.rand(2, 4)]
    """,
    "normalize": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 3, 1)
                self.mean = torch.tensor([0.5, 0.4, 0.4]).view(3, 1, 1)

            def forward(self, images):
                return self.conv(images) - self.mean

        net, inputs = Net(), [torch.rand(2, 3, 4, 4)]
    """,
    "before the first layer": """
        class Net(nn.Module):
            def __init__(self, mean=(0.5, 0.4, 0.4)):
                super().__init__()
                self.conv = nn.Conv2d(3, 3, 1)
                self.mean = torch.tensor(mean).view(3, 1, 1)

            def forward(self, images):
                images = images - self.mean
                return self.conv(images)

        net, inputs = Net(), [torch.rand(2, 3, 4, 4)]
    """,
    "positions": """
        class Positions(nn.Module):
            def __init__(self, width, length=50):
                super().__init__()
                pe = torch.zeros(length, width)
                position = torch.arange(0, length, dtype=torch.float).unsqueeze(1)
                div = torch.exp(torch.arange(0, width, 2).float() * (-math.log(1e4) / width))
                pe[:, 0::2] = torch.sin(position * div)
                pe[:, 1::2] = torch.cos(position * div)
                self.pe = pe.unsqueeze(0)

            def forward(self, x):
                return x + self.pe[:, : x.size(1)]

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(10, 8)
                self.positions = Positions(8)
                self.out = nn.Linear(8, 2)

            def forward(self, ids):
                return self.out(self.positions(self.embed(ids)))

        net, inputs = Net(), [torch.randint(0, 10, (2, 5))]
    """,
    "mask": """
        class Net(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.qkv = nn.Linear(8, 24)
                self._build(size)

            def _build(self, size):
                self.mask = torch.tril(torch.ones(size, size))

            def forward(self, x):
                q, k, v = self.qkv(x).chunk(3, dim=-1)
                n = x.shape[1]
                scores = q @ k.transpose(-2, -1)
                scores = scores.masked_fill(self.mask[:n, :n] == 0, float("-inf"))
                return scores.softmax(-1) @ v

        net, inputs = Net(16), [torch.rand(2, 5, 8)]
    """,
    "attention": """
        class Net(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
                self.mask = torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=1)

            def forward(self, x):
                return self.attend(x, x, x, attn_mask=self.mask)[0]

        net, inputs = Net(5), [torch.rand(2, 5, 8)]
    """,
    "embedded": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(10, 8)
                self.ids = torch.arange(10)

            def forward(self, x):
                return x @ self.embed(self.ids).t()

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
    "concatenated": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(8, 8)
                self.prefix = torch.zeros(1, 8)

            def forward(self, x):
                return torch.cat([self.prefix.expand(1, -1), self.lin(x)])

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
    "loss": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(8, 3)
                self.weights = torch.ones(3)

            def forward(self, x, target):
                return F.cross_entropy(self.lin(x), target, weight=self.weights)

        net, inputs = Net(), [torch.rand(2, 8), torch.tensor([0, 2])]
    """,
    "a function of the program": """
        def shifted(x, table):
            return x + table

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(8, 8)
                self.table = torch.ones(8)

            def forward(self, x):
                return shifted(self.lin(x), self.table)

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
    "window": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(64, 64)
                self.window = torch.hann_window(16)

            def forward(self, x):
                return torch.stft(self.lin(x), 16, window=self.window, return_complex=True).abs()

        net, inputs = Net(), [torch.rand(2, 64)]
    """,
    "kernel": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                kernel = torch.tensor([[1.0, 2.0, 1.0]])
                self.kernel = (kernel.t() @ kernel)[None, None] / 16
                self.conv = nn.Conv2d(1, 1, 3)

            def forward(self, x):
                return self.conv(F.conv2d(x, self.kernel, padding=1))

        net, inputs = Net(), [torch.rand(2, 1, 8, 8)]
    """,
    "a property of the base": """
        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = torch.ones(8) * 2

        class Net(Base):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(8, 8)

            @property
            def double(self):
                return 2 * self.scale

            def forward(self, x):
                return self.lin(x) * self.double

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
}

_LIN = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)
        {init}
{methods}
    def forward(self, x):
        x = self.lin(x)
        {forward}
        return x

net, inputs = Net(), [torch.rand(2, 8)]
"""


def _net(init: str, forward: str, methods: str = "", after: str = "") -> str:
    return _LIN.format(
        init=indent(dedent(init).strip(), " " * 8).strip(),
        forward=indent(dedent(forward).strip(), " " * 8).strip(),
        methods=indent(dedent(methods).strip(), " " * 4),
    ) + dedent(after)


SILENT = {
    # modules
    "ModuleList": _net(
        "self.parts = nn.ModuleList([nn.Linear(8, 8)])", "for p in self.parts: x = p(x)"
    ),
    "registered as well": _net(
        "parts = [nn.Linear(8, 8), nn.Linear(8, 8)]\nself.body = nn.Sequential(*parts)\n"
        "self.parts = parts",
        "for p in self.parts: x = p(x)",
    ),
    "attributes in a list": _net(
        "self.a = nn.Linear(8, 8)\nself.b = nn.Linear(8, 8)\nself.ends = [self.a, self.b]",
        "for p in self.ends: x = p(x)",
    ),
    "add_module": _net(
        """
        self.parts = []
        for i in range(2):
            self.parts.append(nn.Linear(8, 8))
            self.add_module(f"part{i}", self.parts[-1])
        """,
        "for p in self.parts: x = p(x)",
    ),
    "setattr": _net(
        """
        self.parts = [nn.Linear(8, 8) for _ in range(2)]
        for i, part in enumerate(self.parts):
            setattr(self, f"part{i}", part)
        """,
        "for p in self.parts: x = p(x)",
    ),
    "teacher in a list": """
        class Net(nn.Module):
            def __init__(self, teacher):
                super().__init__()
                self.lin = nn.Linear(8, 8)
                self.teacher = [teacher]

            def forward(self, x):
                return self.lin(x) - self.teacher[0](x)

        teacher = nn.Linear(8, 8)
        net, inputs = Net(teacher), [torch.rand(2, 8)]

        def prepared(net):
            teacher.to("cuda")
    """,
    "hidden in a list of one": _net(
        "self.hidden = [nn.Linear(8, 8)]",
        "x = x + self.hidden[0](x)",
        after='def prepared(net):\n    [h.to("cuda") for h in vars(net)["hidden"]]\n',
    ),
    "registered parameters in a list": _net(
        "self.ends = [self.lin.weight, self.lin.bias]",
        "x = x @ self.ends[0] + self.ends[1]",
        after='def prepared(net):\n    vars(net)["ends"][:] = [net.lin.weight, net.lin.bias]\n',
    ),
    "ParameterList": _net(
        "self.weights = nn.ParameterList([nn.Parameter(torch.rand(8, 8)) for _ in range(2)])",
        "for w in self.weights: x = x @ w",
    ),
    "parameters that were given": """
        class Net(nn.Module):
            def __init__(self, tables):
                super().__init__()
                self.lin = nn.Linear(8, 8)
                self.tables = [nn.Parameter(table) for table in tables]

            def forward(self, x):
                return self.lin(x) + sum(self.tables)

        near = "cuda" if torch.cuda.is_available() else "cpu"
        net, inputs = Net([torch.ones(8, device=near)] * 2), [torch.rand(2, 8)]
    """,
    "parameters made on a device": _net(
        "self.tables = [nn.Parameter(torch.ones(8, device=DEVICE)) for _ in range(2)]",
        "for table in self.tables: x = x + table",
    ).replace("class Net", 'DEVICE = "cuda" if torch.cuda.is_available() else "cpu"\nclass Net', 1),
    "filled by a helper under a device": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = []
                with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
                    self._build()

            def _build(self):
                self.parts.append(nn.Linear(8, 8))
                self.parts.append(nn.Linear(8, 8))

            def forward(self, x):
                return sum(part(x) for part in self.parts)

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
    "moved in forward": _net(
        "self.parts = [nn.Linear(8, 8) for _ in range(2)]",
        "for p in self.parts: x = p.to(x.device)(x)",
    ),
    "moved by a helper": _net(
        "self.parts = [nn.Linear(8, 8) for _ in range(2)]",
        "together(self.parts, x)\nfor p in self.parts: x = p(x)",
        after="""
        def together(parts, x):
            for part in parts:
                part.to(x.device)
        """,
    ),
    "moved from outside": _net(
        "self.parts = [nn.Linear(8, 8) for _ in range(2)]",
        "for p in self.parts: x = p(x)",
        after="""
        def prepared(net):
            for part in net.parts:
                part.to("cuda")
        """,
    ),
    "moved by _apply": _net(
        "self.parts = [nn.Linear(8, 8) for _ in range(2)]",
        "for p in self.parts: x = p(x)",
        """
        def _apply(self, fn, recurse=True):
            for part in self.parts:
                part._apply(fn)
            return super()._apply(fn, recurse)
        """,
    ),
    "moved by to": _net(
        "self.parts = [nn.Linear(8, 8) for _ in range(2)]",
        "for p in self.parts: x = p(x)",
        """
        def to(self, *args, **kwargs):
            for part in self.__dict__["parts"]:
                part.to(*args, **kwargs)
            return super().to(*args, **kwargs)
        """,
    ),
    "given by a method": _net(
        "self.parts = [nn.Linear(8, 8) for _ in range(2)]",
        "for p in self.parts: x = p(x)",
        "def get_parts(self):\n    return self.parts",
        'def prepared(net):\n    [part.to("cuda") for part in net.get_parts()]\n',
    ),
    "no method uses them": _net("self.parts = [nn.Linear(8, 8) for _ in range(2)]", "pass"),
    "no tensors in them": _net(
        "self.parts = [nn.ReLU() for _ in range(2)]", "for p in self.parts: x = p(x)"
    ),
    "frozen": _net(
        "self.parts = [nn.Linear(8, 8).requires_grad_(False) for _ in range(2)]",
        "pass",
        "def other(self):\n    return self.parts",
    ),
    "of parts of others": """
        class Net(nn.Module):
            def __init__(self, parts):
                super().__init__()
                self.parts = [part for part in parts]

            def forward(self, x):
                return sum(part(x) for part in self.parts)

        parts = [nn.Linear(8, 8), nn.Linear(8, 8)]
        net, inputs = Net(parts), [torch.rand(2, 8)]

        def prepared(net):
            for part in parts:
                part.to("cuda")
    """,
    "made on a device": _net(
        "self.parts = [nn.Linear(8, 8).to(DEVICE) for _ in range(2)]",
        "for p in self.parts: x = p(x)",
    ).replace("class Net", 'DEVICE = "cuda" if torch.cuda.is_available() else "cpu"\nclass Net', 1),
    "without source": """
        space = dict(nn=nn)
        source = (
            "class Net(nn.Module):\\n"
            "    def __init__(self):\\n"
            "        super().__init__()\\n"
            "        self.parts = [nn.Linear(8, 8), nn.Linear(8, 8)]\\n"
            "    def forward(self, x):\\n"
            "        return x if x.is_cuda else self.parts[0](x)\\n"
        )
        exec(source, space)
        net, inputs = space["Net"](), [torch.rand(2, 8)]
    """,
    "given or made": """
        class Net(nn.Module):
            def __init__(self, parts=None):
                super().__init__()
                if parts is None:
                    parts = [nn.Linear(8, 8), nn.Linear(8, 8)]
                self.parts = parts

            def forward(self, x):
                return sum(part(x) for part in self.parts)

        near = "cuda" if torch.cuda.is_available() else "cpu"
        net, inputs = Net([nn.Linear(8, 8).to(near), nn.Linear(8, 8).to(near)]), [torch.rand(2, 8)]
    """,
    "made with a device": """
        class Net(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.parts = [nn.Linear(8, 8, device=device) for _ in range(2)]

            def forward(self, x):
                return sum(part(x) for part in self.parts)

        net = Net("cuda" if torch.cuda.is_available() else "cpu")
        inputs = [torch.rand(2, 8)]
    """,
    "parts that move themselves": """
        class Part(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(8, 8)

            def forward(self, x):
                self.to(x.device)
                return self.lin(x)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = [Part() for _ in range(2)]

            def forward(self, x):
                return sum(part(x) for part in self.parts)

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
    "parts made under a device": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
                    self.parts = [nn.Linear(8, 8) for _ in range(2)]

            def forward(self, x):
                return sum(part(x) for part in self.parts)

        net, inputs = Net(), [torch.rand(2, 8)]
    """,
    "whatever an object has": _net(
        "self.parts = [nn.Linear(8, 8) for _ in range(2)]\nself.table = torch.ones(8)",
        "for p in self.parts: x = p(x)\nx = x + self.table",
        after="""
        def prepared(obj):
            for name, value in list(obj.__dict__.items()):
                if isinstance(value, torch.Tensor):
                    setattr(obj, name, value.to("cuda"))
                elif isinstance(value, list):
                    [part.to("cuda") for part in value]
        """,
    ),
    # tensors
    "buffer": _net('self.register_buffer("table", torch.ones(8))', "x = x + self.table"),
    "0-dimensional": _net("self.table = torch.tensor(2.0)", "x = x + self.table"),
    "element": _net("self.table = torch.ones(8)", "x = x * self.table[0]"),
    "moved first": _net("self.table = torch.ones(8)", "x = x + self.table.to(x.device)"),
    "moved like": _net("self.table = torch.ones(8)", "x = x + self.table.to(x)"),
    "type_as": _net("self.table = torch.ones(8)", "x = x + self.table.type_as(x)"),
    "moved with another name": _net(
        "self.table = torch.ones(8)", "t = self.table\nt = t.to(x.device)\nx = x + t"
    ),
    "moved where it has to be": _net(
        "self.table = torch.ones(8)",
        "t = self.table\nif t.device != x.device: t = t.to(x.device)\nx = x + t",
    ),
    "moved by the helper": _net(
        "self.table = torch.ones(8)",
        "x = x + at(self.table, x.device)",
        after="""
        def at(tensor, device):
            if tensor.device == device:
                return tensor
            return tensor.to(device)
        """,
    ),
    "moved by a helper with a flag": _net(
        "self.table = torch.ones(8)",
        "x = x + near(self.table)",
        after="""
        USES_GPU = torch.cuda.is_available()

        def near(tensor):
            return tensor.cuda() if USES_GPU else tensor
        """,
    ),
    "moved by a method": _net(
        "self.table = torch.ones(8)",
        "t = 2 * self.table\nx = x + self.near(t)",
        "def near(self, tensor):\n    return tensor.cuda() if USES_GPU else tensor",
        "USES_GPU = torch.cuda.is_available()\n",
    ),
    "moved by a helper's helper": _net(
        "self.table = torch.ones(8)",
        "x = x + near(self.table)",
        after="""
        USES_GPU = torch.cuda.is_available()

        def placed(tensor):
            return tensor.cuda() if USES_GPU else tensor

        def near(tensor):
            return placed(tensor)
        """,
    ),
    "moved if on cuda": _net(
        "self.table = torch.ones(8)",
        "t = self.table\nif x.is_cuda: t = put(t)\nx = x + t",
        after="def put(t):\n    return t.cuda()\n",
    ),
    "moved if of type cuda": _net(
        "self.table = torch.ones(8)",
        'x = x + self.near(x.device.type == "cuda")',
        "def near(self, far):\n    return put(self.table) if far else self.table",
        "def put(t):\n    return t.cuda()\n",
    ),
    "stored again": _net(
        "self.table = torch.ones(8)", "self.table = self.table.to(x.device)\nx = x + self.table"
    ),
    "on the host": _net(
        "self.table = torch.arange(8)",
        "for i in self.table.tolist(): x = x + i\nx = x * len(self.table) * int(self.table[3])",
    ),
    "index": _net("self.order = torch.tensor([2, 1, 0])", "x = x[:, self.order]"),
    "written": _net(
        "self.seen = torch.zeros(8)",
        "self.seen.copy_(x[0].detach())\nself.seen[:2] = x[0, :2].detach()",
    ),
    "written into": _net(
        "self.table = torch.ones(8)", "x = x.clone()\nx[0] = self.table\nx[1].copy_(self.table)"
    ),
    "cache of forward": _net(
        "self.cache = None",
        "if self.cache is None: self.cache = torch.zeros(8, device=x.device)\nx = x + self.cache",
    ),
    "hidden state": _net(
        "self.state = torch.zeros(2, 8)", "self.state = (x * 0.5).detach()\nx = x + self.state"
    ),
    "set from outside": _net(
        "self.table = torch.ones(8)",
        "x = x + self.table",
        after='def prepared(net):\n    net.table = torch.ones(8, device="cuda")\n',
    ),
    "made where it is said": _net(
        "self.table = torch.ones(8, device=DEVICE)", "x = x + self.table"
    ).replace("class Net", 'DEVICE = "cuda" if torch.cuda.is_available() else "cpu"\nclass Net', 1),
    "made under a device": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(8, 8)
                self.table = torch.ones(8)

            def forward(self, x):
                return self.lin(x) + self.table

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        with torch.device(device):
            net = Net()
        inputs = [torch.rand(2, 8)]
    """,
    "of a given tensor": """
        class Net(nn.Module):
            def __init__(self, table):
                super().__init__()
                self.lin = nn.Linear(8, 8)
                self.table = torch.as_tensor(table)

            def forward(self, x):
                return self.lin(x) + self.table

        where = "cuda" if torch.cuda.is_available() else "cpu"
        net, inputs = Net(torch.ones(8, device=where)), [torch.rand(2, 8)]
    """,
    "preparation on the host": """
        class Prepare(nn.Module):
            def __init__(self):
                super().__init__()
                self.mean = torch.tensor([0.5, 0.4, 0.4]).view(3, 1, 1)

            def forward(self, image):
                return image - self.mean

        net, inputs, on_host = Prepare(), [torch.rand(3, 4, 4)], True
    """,
    "preparation inside": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 3, 1)
                self.mean = torch.tensor([0.5, 0.4, 0.4]).view(3, 1, 1)

            def forward(self, image):
                image = image - self.mean
                return self.conv(image.to(self.conv.weight.device))

        net, inputs, on_host = Net(), [torch.rand(2, 3, 4, 4)], True
    """,
    "lengths": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(8, 8)
                self.steps = torch.arange(5)

            def forward(self, x, lengths):
                keep = (self.steps[None] < lengths[:, None]).to(x.device)
                return self.lin(x) * keep[..., None]

        net, inputs = Net(), [torch.rand(2, 5, 8), torch.tensor([5, 3])]

        def prepared(net):
            inputs[1] = inputs[1].numpy()

        class Host(Net):
            def forward(self, x, lengths):
                return super().forward(x, torch.as_tensor(lengths))

        net = Host()
    """,
    "moved by its own _apply": _net(
        "self.table = torch.ones(8)",
        "x = x + self.table",
        """
        def _apply(self, fn, recurse=True):
            super()._apply(fn, recurse)
            self.table = fn(self.table)
            return self
        """,
    ),
    "moved with all of its dictionary": _net(
        "self.table = torch.ones(8)",
        "self.gather(x.device)\nx = x + self.table",
        """
        def gather(self, device):
            for name, value in list(vars(self).items()):
                if isinstance(value, torch.Tensor):
                    setattr(self, name, value.to(device))
        """,
    ),
    "given or made, a tensor": """
        class Net(nn.Module):
            def __init__(self, table=None):
                super().__init__()
                self.lin = nn.Linear(8, 8)
                if table is None:
                    table = torch.ones(8)
                self.table = table

            def forward(self, x):
                return self.lin(x) + self.table

        near = "cuda" if torch.cuda.is_available() else "cpu"
        net, inputs = Net(torch.ones(8, device=near)), [torch.rand(2, 8)]
    """,
    "where another tensor is": """
        class Net(nn.Module):
            def __init__(self, table):
                super().__init__()
                self.lin = nn.Linear(8, 8)
                self.table = torch.arange(3.0)[2] * table

            def forward(self, x):
                return self.lin(x) + self.table

        near = "cuda" if torch.cuda.is_available() else "cpu"
        net, inputs = Net(torch.ones(8, device=near)), [torch.rand(2, 8)]
    """,
    "from a hook": _net(
        "self.table = torch.ones(8)",
        "x = x + self.table",
        after="""
        def place(module, args):
            module.table = module.table.to(args[0].device)

        net.register_forward_pre_hook(place)
        """,
    ),
    "alone": _net("self.table = torch.ones(8)", "x = x * (self.table * 2 + 1).sum()"),
    "a parameter's view": _net("self.table = torch.ones(8)", "x = x + self.lin.bias"),
    "dataclass": """
        from dataclasses import dataclass

        @dataclass(eq=False)
        class Net(nn.Module):
            width: int

            def __post_init__(self):
                super().__init__()
                self.lin = nn.Linear(self.width, 8)
                self.table = torch.ones(8, device="cuda" if torch.cuda.is_available() else "cpu")

            def forward(self, x):
                return self.lin(x) + self.table

        net, inputs = Net(8), [torch.rand(2, 8)]
    """,
}


@pytest.mark.parametrize("name", REGISTERED)
def test_modules_in_plain_containers_are_told_of(tmp_path: Path, name: str) -> None:
    with pytest.raises(DeviceMismatchError, match=r"\.to\(\) leaves it on cpu") as caught:
        _run(tmp_path, REGISTERED[name], _GUARDED)
    assert caught.value.explanation is not None
    assert caught.value.explanation.rule == "unregistered-modules"
    with devlint.emulate("cuda"), pytest.raises(RuntimeError, match="same device"):
        _run(tmp_path, REGISTERED[name], _MOVED)


@pytest.mark.parametrize("name", PLAIN)
def test_plain_tensors_are_told_of_where_they_meet_others(tmp_path: Path, name: str) -> None:
    with pytest.raises(DeviceMismatchError, match=r"\.to\(\) leaves it on cpu") as caught:
        _run(tmp_path, PLAIN[name], _GUARDED)
    assert caught.value.explanation is not None
    assert caught.value.explanation.rule == "unregistered-tensor"
    with (
        devlint.emulate("cuda"),
        pytest.raises(RuntimeError, match=r"same device|should be the same"),
    ):
        _run(tmp_path, PLAIN[name], _MOVED)


@pytest.mark.parametrize("name", SILENT)
def test_what_works_everywhere_is_left_alone(tmp_path: Path, name: str) -> None:
    with_guard = _run(tmp_path, SILENT[name], _GUARDED)["out"]
    without = _run(tmp_path, SILENT[name], _CALL)["out"]
    assert torch.equal(with_guard, without)
    with devlint.emulate("cuda"):
        _run(tmp_path, SILENT[name], _MOVED)


# --- the rules' own examples


def _blocks(rule: str) -> list[tuple[str, str]]:
    page = (Path(__file__).parents[2] / "rules" / f"{rule}.md").read_text()
    return re.findall(r"```python (error|ok|fixed)\n(.*?)```", page, re.DOTALL)


@pytest.mark.parametrize("rule", ["unregistered-modules", "unregistered-tensor"])
def test_the_examples_of_the_rules_are_judged_as_the_rules_judge_them(
    tmp_path: Path, rule: str
) -> None:
    guarded = "from devlint.runtime.guard import install_guard\nguard = install_guard()\n"
    for kind, code in _blocks(rule):
        found: DeviceMismatchError | None = None
        try:
            _run(tmp_path, guarded + code, "")
        except DeviceMismatchError as error:
            found = error
        finally:
            _guards_off()
        said = found.explanation.rule if found is not None and found.explanation else ""
        kept = kind == "error" and "later calls" not in code  # what a call keeps, it doesn't see
        assert said == (rule if kept else ""), code


def _guards_off() -> None:
    from devlint.runtime.guard.watch import WATCH

    for guard in WATCH._state.guards:
        guard.remove()


# --- nothing changes


_TRAINING = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.norm = nn.BatchNorm1d(16)
        self.out = nn.Linear(16, 20)
        self.steps = torch.arange(32)

    def forward(self, ids, lengths):
        x = self.layer(self.embed(ids))
        x = self.norm(x.transpose(1, 2)).transpose(1, 2)
        x = checkpoint(lambda y: F.dropout(self.out(y), 0.3), x, use_reentrant=False)
        keep = self.steps[: ids.shape[1]][None] < lengths[:, None]
        return x * keep.to(x.device)[..., None]

from torch.utils.checkpoint import checkpoint
net = Net()
inputs = torch.randint(0, 20, (3, 7)), torch.tensor([7, 3, 5])
"""
_STEPS = """
optimizer = torch.optim.Adam(net.parameters())
losses = []
for _ in range(2):
    loss = net(*inputs).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
net.eval()
with torch.no_grad():
    losses.append(net(*inputs).sum())
out = torch.stack(losses)
"""


def test_losses_and_gradients_are_the_same_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = _noted(monkeypatch)
    with_guard = _run(
        tmp_path,
        _TRAINING,
        f"from devlint.runtime.guard import guard\nwith guard():\n{indent(_STEPS, '    ')}",
    )
    assert [kind.__name__ for kind in watched] == ["Net"]
    without = _run(tmp_path, _TRAINING, _STEPS)
    assert torch.equal(with_guard["out"], without["out"])
    for one, other in zip(with_guard["net"].parameters(), without["net"].parameters(), strict=True):
        assert torch.equal(one, other)
        assert torch.equal(one.grad, other.grad)


def _noted(monkeypatch: pytest.MonkeyPatch) -> list[type]:
    """The classes of the modules whose calls are watched."""
    found: list[type] = []
    watching = structure._watching

    def noted(module: Any, *more: Any) -> Any:
        result = watching(module, *more)
        if result is not None:
            found.append(type(module))
        return result

    monkeypatch.setattr(structure, "_watching", noted)
    return found


_HELPED = """
class Near(nn.Module):
    def forward(self, tensor, device):
        return tensor.to(device)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)
        self.near = Near()
        self.table = torch.ones(8)

    def forward(self, x):
        return self.lin(x) + self.near(self.table, x.device)

net, x = Net(), torch.rand(2, 8)
"""


def test_only_the_first_call_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = _noted(monkeypatch)
    calls = """
    from devlint.runtime.guard import guard
    from torch.overrides import _get_current_function_mode_stack as stack
    inner = []
    net.lin.register_forward_hook(lambda *_: inner.append(len(stack())))
    with guard():
        net(x)
        out = net(x)
        after = len(stack())
    """
    result = _run(tmp_path, _HELPED, calls)
    assert len(watched) == 1
    assert (result["inner"], result["after"]) == ([1, 0], 0)


def test_a_watched_call_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    calls = """
    from devlint.runtime.guard import guard
    from torch.overrides import _get_current_function_mode_stack as stack
    with guard():
        try:
            net(x[:, :3])
        except RuntimeError as error:
            text = str(error)
    after = len(stack())
    """
    result = _run(tmp_path, _HELPED, calls)
    assert "cannot be multiplied" in result["text"]
    assert result["after"] == 0


def test_no_tensor_is_kept_alive(tmp_path: Path) -> None:
    calls = """
    import gc, weakref
    from devlint.runtime.guard import guard
    gc.disable()
    known = weakref.ref(x)
    inner = []
    net.lin.register_forward_hook(lambda m, args, y: inner.append(weakref.ref(y)))
    with guard():
        out = net(x)
        del x, out
        alive = [known() is not None, inner[0]() is not None]
    gc.enable()
    """
    assert _run(tmp_path, _HELPED, calls)["alive"] == [False, False]


@pytest.mark.parametrize(
    "call",
    [
        "torch.vmap(net)(x)",
        "torch.func.grad(lambda x: net(x).sum())(x)",
        "torch.func.functional_call(net, dict(net.named_parameters()), x)",
        "torch.jit.trace(net, x)(x)",
        "torch.fx.symbolic_trace(net)(x)",
        "torch.export.export(net, (x,))",
        "copy.deepcopy(net)(x)",
        "pickle.loads(pickle.dumps(net.state_dict()))",
        "torch.nn.DataParallel(net)(x)",
        "net.double()(x.double())",
    ],
)
def test_transforms_of_models_work_as_ever(tmp_path: Path, call: str) -> None:
    _run(
        tmp_path,
        _HELPED,
        "import copy, pickle\nfrom devlint.runtime.guard import guard\n"
        f"with guard():\n    {call}\n",
    )


def test_a_cell_of_a_notebook_has_a_source(tmp_path: Path) -> None:
    source = """
    import linecache
    def cell(number, text):
        name = f"<ipython-input-{number}>"
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        exec(compile(text, name, "exec"), globals())

    cell(1, '''class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = [nn.Linear(8, 8) for _ in range(2)]

        def forward(self, x):
            for part in self.parts:
                x = part(x)
            return x
    ''')
    net, inputs = Net(), [torch.rand(2, 8)]
    """
    with pytest.raises(DeviceMismatchError, match=r"<ipython-input-1>:4  self\.parts = "):
        _run(tmp_path, source, _GUARDED)


def test_modules_that_were_moved_by_hand_are_left_alone(tmp_path: Path) -> None:
    moved = 'net.to("cuda")\n[part.to("cuda") for part in vars(net)["layers"]]\n'
    given = 'inputs = [i.to("cuda") for i in inputs]\n'
    with devlint.emulate("cuda"):
        _run(tmp_path, REGISTERED["list"], moved + given + _GUARDED)


def test_the_message_names_the_places_and_the_repair(tmp_path: Path) -> None:
    with pytest.raises(DeviceMismatchError) as caught:
        _run(tmp_path, REGISTERED["dict"], _GUARDED)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith('heads["a"] (Linear), kept in a dict by Net, isn\'t registered')
    assert [line.split()[0] for line in lines[1:]] == ["kept", "used", "fix", "more"]
    assert "self.heads = {" in lines[1]
    assert "self.heads.items()" in lines[2]
    assert "self.heads = nn.ModuleDict(...)  [DEV402]" in lines[3]

    with pytest.raises(DeviceMismatchError) as caught:
        _run(tmp_path, PLAIN["positions"], _GUARDED)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("self.pe of Positions is a plain tensor")
    assert [line.split()[0] for line in lines[1:]] == ["tensor", "kept", "used", "fix", "more"]
    assert "self.pe = pe.unsqueeze(0)" in lines[2]
    assert "return x + self.pe[:, : x.size(1)]" in lines[3]
    assert 'self.register_buffer("pe", ..., persistent=False)  [DEV401]' in lines[4]
    assert caught.value.explanation is not None
    assert caught.value.explanation.module == "positions (Positions)"
