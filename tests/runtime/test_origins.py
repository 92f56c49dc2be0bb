"""Where a value came from is told however it has travelled, and whatever has decided its place.

Each program takes a tensor of the card, `x`, and one of the host. `MAKE` stands for what decides
where that one is, on the line marked `# made`; the way from there to the operand is the program's.
"""

from __future__ import annotations

import sys

import pytest
import torch
from mistakes import Planted, Told, proof, told

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="before Python 3.11 a line is known, not what is in it"
)

DECIDES = {
    "made": "torch.zeros(4)",
    "made there": 'torch.zeros(4, device="cpu")',
    "moved": "torch.ones_like(x).cpu()",
    "loaded": 'torch.load("w.pt", map_location="cpu")',
    "filled": "torch.full((4,), 2.0).mul(2)",
}
"""What decides the place."""

WAYS = {
    "a name": """
a = MAKE  # made
x + a  # used a
""",
    "another name": """
a = MAKE  # made
b = a
x + b  # used b
""",
    "a view": """
a = MAKE  # made
x + a.view(4)  # used a.view(4)|a
""",
    "two names at once": """
a, n = MAKE, 1  # made
x + a  # used a
""",
    "a walrus": """
if (a := MAKE) is not None:  # made
    x + a  # used a
""",
    "a conditional expression": """
a = x if len(x) > 9 else MAKE  # made
x + a  # used a
""",
    "a branch that was taken": """
if len(x) > 9:
    a = torch.ones(4, device="cuda")
else:
    a = MAKE  # made
x + a  # used a
""",
    "an early one that was replaced": """
a = torch.ones(4, device="cuda")
for _ in range(2):
    a = MAKE  # made
x + a  # used a
""",
    "computed with numbers": """
a = MAKE  # made
b = a * 2 + 1
x + b  # used b
""",
    "functions of torch": """
a = MAKE  # made
b = torch.cat([a, a]).chunk(2)[0]
x + b  # used b
""",
    "an item of a tuple": """
pair = (x, MAKE)  # made
x + pair[1]  # used pair[1]
""",
    "unpacked from a tuple": """
pair = (x, MAKE)  # made
first, second = pair
first + second  # used second
""",
    "unpacked with a star": """
first, *rest = x, MAKE, 3  # made
first + rest[0]  # used rest[0]
""",
    "a list that is filled": """
rows = []
for _ in range(2):
    rows.append(MAKE)  # made
x + rows[1]  # used rows[1]
""",
    "a list that grows by an operator": """
rows = [x]
rows += [MAKE]  # made
x + rows[-1]  # used rows[-1]
""",
    "a deque": """
from collections import deque
rows = deque(maxlen=3)
rows.append(MAKE)  # made
for row in rows:
    x + row  # used row
""",
    "a list of a comprehension": """
rows = [MAKE for _ in range(2)]  # made
x + rows[0]  # used rows[0]
""",
    "a comprehension over a list": """
rows = [MAKE]  # made
sums = [x + row for row in rows]  # used row
""",
    "a generator expression": """
rows = (MAKE for _ in range(2))  # made
for row in rows:
    x + row  # used row
""",
    "a key of a dict": """
batch = {"x": x, "y": MAKE}  # made
batch["x"] + batch["y"]  # used batch["y"]
""",
    "a key that is set": """
batch = {"x": x}
batch["y"] = MAKE  # made
x + batch["y"]  # used batch["y"]
""",
    "dict(...)": """
batch = dict(x=x, y=MAKE)  # made
x + batch["y"]  # used batch["y"]
""",
    "a dict of dicts": """
config = {"loss": {"weight": MAKE}}  # made
loss = config["loss"]
x + loss["weight"]  # used loss["weight"]
""",
    "get": """
batch = {"y": MAKE}  # made
y = batch.get("y")
x + y  # used y
""",
    "setdefault": """
cache = {}
y = cache.setdefault("y", MAKE)  # made
x + y  # used y
""",
    "items": """
batch = {"y": MAKE}  # made
for name, value in batch.items():
    x + value  # used value
""",
    "zip": """
ys = [MAKE]  # made
for a, b in zip([x], ys):
    a + b  # used b
""",
    "enumerate and zip": """
ys = [MAKE]  # made
for i, (a, b) in enumerate(zip([x], ys)):
    a + b  # used b
""",
    "next of an iterator": """
steps = iter([MAKE])  # made
step = next(steps)
x + step  # used step
""",
    "map": """
rows = list(map(lambda n: MAKE, [1, 2]))  # made
x + rows[0]  # used rows[0]
""",
    "a function": """
def make():
    return MAKE  # made
a = make()
x + a  # used a
""",
    "a name in a function": """
def make():
    result = MAKE  # made
    result = result + 1
    return result
a = make()
x + a  # used a
""",
    "a tuple from a function": """
def make():
    a = MAKE  # made
    return x, a
a, b = make()
a + b  # used b
""",
    "a dict from a function": """
def make():
    return {"x": x, "y": MAKE}  # made
batch = make()
x + batch["y"]  # used batch["y"]
""",
    "an argument": """
def add(a, b):
    return a + b  # used b
y = MAKE  # made
add(x, y)
""",
    "an argument by name": """
def add(a, *, b):
    return a + b  # used b
add(x, b=MAKE)  # made
""",
    "an argument of a function that ended": """
def keep(value, times=1):
    return value * times
y = keep(MAKE)  # made
x + y  # used y
""",
    "a default": """
def add(a, b=MAKE):  # made
    return a + b  # used b
add(x)
""",
    "arguments": """
def add(*args):
    return args[0] + args[1]  # used args[1]
add(x, MAKE)  # made
""",
    "spread arguments": """
def add(a, b):
    return a + b  # used b
args = (x, MAKE)  # made
add(*args)
""",
    "keywords": """
def add(**kwargs):
    return kwargs["a"] + kwargs["b"]  # used kwargs["b"]
add(a=x, b=MAKE)  # made
""",
    "spread keywords": """
def add(a, b):
    return a + b  # used b
kwargs = {"a": x}
kwargs["b"] = MAKE  # made
add(**kwargs)
""",
    "through two functions": """
def inner(a, b):
    return a + b  # used b
def outer(**kwargs):
    return inner(x, kwargs["y"])
outer(y=MAKE)  # made
""",
    "functools.partial": """
from functools import partial
def add(a, b):
    return a + b  # used b
shift = partial(add, b=MAKE)  # made
shift(x)
""",
    "a closure": """
def adder():
    shift = MAKE  # made
    def add(a):
        return a + shift  # used shift
    return add
adder()(x)
""",
    "a name of the file": """
SHIFT = MAKE  # made
def add(a):
    return a + SHIFT  # used SHIFT
add(x)
""",
    "a generator": """
def rows():
    for _ in range(2):
        yield x, MAKE  # made
for a, b in rows():
    a + b  # used b
""",
    "an attribute": """
class Scaler:
    def __init__(self):
        self.mean = MAKE  # made
    def scale(self, a):
        return a - self.mean  # used self.mean
Scaler().scale(x)
""",
    "an attribute that came as an argument": """
class Scaler:
    def __init__(self, mean):
        self.mean = mean
    def scale(self, a):
        return a - self.mean  # used self.mean
scaler = Scaler(MAKE)  # made
scaler.scale(x)
""",
    "an attribute set from outside": """
class Scaler:
    mean = None
scaler = Scaler()
scaler.mean = MAKE  # made
x - scaler.mean  # used scaler.mean
""",
    "an attribute of the class": """
class Scaler:
    mean = MAKE  # made
    def scale(self, a):
        return a - self.mean  # used self.mean
Scaler().scale(x)
""",
    "setattr and getattr": """
class Scaler:
    def __init__(self):
        for size in (2, 4):
            setattr(self, f"mean{size}", MAKE)  # made
    def scale(self, a):
        mean = getattr(self, f"mean{4}")
        return a - mean  # used mean
Scaler().scale(x)
""",
    "an attribute that a method replaces": """
class Scaler:
    def __init__(self):
        self.mean = torch.ones(4, device="cuda")
    def reset(self):
        self.mean = MAKE  # made
    def scale(self, a):
        return a - self.mean  # used self.mean
scaler = Scaler()
scaler.reset()
scaler.scale(x)
""",
    "a list of an object": """
class Memory:
    def __init__(self):
        self.rows = []
    def push(self, row):
        self.rows.append(row)
    def sum(self, a):
        return a + self.rows[0]  # used self.rows[0]
memory = Memory()
memory.push(MAKE)  # made
memory.sum(x)
""",
    "a list that an object fills itself": """
class Memory:
    def __init__(self):
        self.rows = []
    def push(self):
        self.rows.append(MAKE)  # made
    def sum(self, a):
        for row in self.rows:
            a = a + row  # used row
        return a
memory = Memory()
memory.push()
memory.sum(x)
""",
    "a property": """
class Scaler:
    @property
    def mean(self):
        return MAKE  # made
    def scale(self, a):
        mean = self.mean
        return a - mean  # used mean
Scaler().scale(x)
""",
    "a dataclass": """
from dataclasses import dataclass
@dataclass
class Batch:
    inputs: torch.Tensor
    targets: torch.Tensor
batch = Batch(x, MAKE)  # made
batch.inputs + batch.targets  # used batch.targets
""",
    "a frozen dataclass from a function": """
from dataclasses import dataclass
@dataclass(frozen=True)
class Batch:
    inputs: torch.Tensor
    targets: torch.Tensor
def load():
    return Batch(inputs=x, targets=MAKE)  # made
batch = load()
batch.inputs + batch.targets  # used batch.targets
""",
    "a field's factory": """
from dataclasses import dataclass, field
@dataclass
class State:
    total: torch.Tensor = field(default_factory=lambda: MAKE)  # made
state = State()
x + state.total  # used state.total
""",
    "a named tuple": """
from typing import NamedTuple
class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor
pair = Pair(x, second=MAKE)  # made
pair.first + pair.second  # used pair.second
""",
    "a collections.namedtuple": """
from collections import namedtuple
Pair = namedtuple("Pair", "first second")
pair = Pair(x, MAKE)  # made
a, b = pair
a + b  # used b
""",
    "a SimpleNamespace": """
from types import SimpleNamespace
config = SimpleNamespace(shift=MAKE)  # made
x + config.shift  # used config.shift
""",
    "a with statement": """
from contextlib import contextmanager
@contextmanager
def noise():
    yield MAKE  # made
with noise() as n:
    x + n  # used n
""",
    "a cached function": """
from functools import lru_cache
@lru_cache
def table(n):
    return MAKE  # made
t = table(4)
x + t  # used t
""",
    "a global cache": """
CACHE = {}
def table(n):
    if n not in CACHE:
        CACHE[n] = MAKE  # made
    return CACHE[n]
t = table(4)
x + t  # used t
""",
    "a static method": """
class Masks:
    @staticmethod
    def future(n):
        return MAKE  # made
mask = Masks.future(4)
x + mask  # used mask
""",
    "a class method": """
class Scaler:
    def __init__(self, mean):
        self.mean = mean
    @classmethod
    def fitted(cls):
        return cls(MAKE)  # made
scaler = Scaler.fitted()
x - scaler.mean  # used scaler.mean
""",
    "a call of an object": """
class Noise:
    def __call__(self, a):
        return MAKE  # made
noise = Noise()
n = noise(x)
x + n  # used n
""",
    "a base class": """
class Base:
    def __init__(self):
        self.mean = MAKE  # made
class Scaler(Base):
    def scale(self, a):
        return a - self.mean  # used self.mean
Scaler().scale(x)
""",
    "a data set": """
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return {"y": MAKE}  # made
for batch in DataLoader(Rows(), batch_size=2):
    x + batch["y"]  # used batch["y"]
""",
    "a tensor data set": """
from torch.utils.data import DataLoader, TensorDataset
ys = MAKE  # made
for (y,) in DataLoader(TensorDataset(ys), batch_size=4):
    x + y  # used y
""",
    "what a loader collates": """
from torch.utils.data import DataLoader
def collate(rows):
    return x, MAKE  # made
for a, b in DataLoader(range(4), collate_fn=collate):
    a + b  # used b
""",
    "a parameter list": """
from torch import nn
rows = [nn.Parameter(MAKE)]  # made
x + rows[0]  # used rows[0]
""",
    "a helper module": """
from helper import build
a = build()
x + a  # used a
# helper.py
import torch
x = torch.ones(4, device="cuda")
def build():
    return MAKE  # made
""",
    "a name of a helper module": """
import helper
x + helper.TABLE  # used helper.TABLE
# helper.py
import torch
x = torch.ones(4, device="cuda")
TABLE = MAKE  # made
""",
    "try and except": """
try:
    a = {}["a"]
except KeyError:
    a = MAKE  # made
x + a  # used a
""",
    "sorted with a key": """
rows = sorted([(1, MAKE)], key=lambda row: row[0])  # made
for rank, row in rows:
    x + row  # used row
""",
    "reversed and listed": """
rows = [MAKE]  # made
for row in reversed(list(rows)):
    x + row  # used row
""",
    "copied": """
import copy
a = MAKE  # made
b = copy.deepcopy(a)
x + b  # used b
""",
    "or": """
given = None
a = MAKE  # made
b = given if given is not None else a
x + b  # used b
""",
    "match": """
match len(x):
    case 4:
        a = MAKE  # made
x + a  # used a
""",
    "update": """
batch = {"x": x}
batch.update(y=MAKE)  # made
x + batch["y"]  # used batch["y"]
""",
    "extend": """
rows = [x]
rows.extend([MAKE])  # made
x + rows[1]  # used rows[1]
""",
    "merged dicts": """
extra = {"y": MAKE}  # made
batch = {"x": x, **extra}
x + batch["y"]  # used batch["y"]
""",
    "stacked in a list of a loop": """
rows = []
for _ in range(2):
    row = MAKE  # made
    rows.append(row)
stacked = torch.stack(rows)
x + stacked  # used stacked
""",
    "a nested function's return": """
def outer():
    def inner():
        t = MAKE  # made
        return {"deep": [t]}
    return inner()
d = outer()
x + d["deep"][0]  # used d["deep"][0]
""",
    "a class that wraps another": """
class Inner:
    def __init__(self):
        self.value = MAKE  # made
class Outer:
    def __init__(self, inner):
        self.inner = inner
    def run(self, a):
        return a * self.inner.value  # used self.inner.value
Outer(Inner()).run(x)
""",
    "an object that takes keywords": """
class Config:
    def __init__(self, **kw):
        self.__dict__.update(kw)
cfg = Config(bias=MAKE)  # made
x + cfg.bias  # used cfg.bias
""",
    "an iterator class": """
class Stream:
    def __init__(self):
        self.i = 0
    def __iter__(self):
        return self
    def __next__(self):
        if self.i:
            raise StopIteration
        self.i += 1
        return x, MAKE  # made
for a, b in Stream():
    a + b  # used b
""",
    "yield from": """
def inner():
    yield MAKE  # made
def outer():
    yield from inner()
for row in outer():
    x + row  # used row
""",
    "itertools.chain": """
import itertools
first, second = [x], [MAKE]  # made
for row in itertools.chain(first, second):
    x + row  # used row
""",
    "dict comprehension over names": """
tables = {name: MAKE for name in ("a", "b")}  # made
x + tables["a"]  # used tables["a"]
""",
    "defaultdict": """
from collections import defaultdict
totals = defaultdict(lambda: MAKE)  # made
x + totals["a"]  # used totals["a"]
""",
    "queue": """
import queue
q = queue.Queue()
q.put(MAKE)  # made
item = q.get()
x + item  # used item
""",
    "while loop": """
state, n = None, 0
while n < 2:
    if state is None:
        state = MAKE  # made
    n += 1
x + state  # used state
""",
    "early return": """
def pick(flag):
    if flag:
        return torch.ones(4, device="cuda")
    return MAKE  # made
a = pick(False)
x + a  # used a
""",
    "helper method": """
class Model:
    def _mask(self, n):
        mask = MAKE  # made
        return mask
    def run(self, a):
        mask = self._mask(4)
        return a * mask  # used mask
Model().run(x)
""",
    "list of tuples": """
pairs = []
for i in range(2):
    pairs.append((i, MAKE))  # made
for i, v in pairs:
    x + v  # used v
""",
    "zip star": """
rows = [(x, MAKE), (x, MAKE)]  # made
firsts, seconds = zip(*rows)
x + seconds[0]  # used seconds[0]
""",
    "lambda closure": """
w = MAKE  # made
f = lambda a: a + w  # used w
f(x)
""",
    "kwargs get": """
def run(a, **options):
    bias = options.get("bias")
    return a + bias  # used bias
run(x, bias=MAKE)  # made
""",
    "kwargs pop": """
def run(a, **options):
    bias = options.pop("bias")
    return a + bias  # used bias
run(x, bias=MAKE)  # made
""",
    "replace on dataclass": """
from dataclasses import dataclass, replace
@dataclass
class S:
    a: object
    b: object
s = S(x, None)
s = replace(s, b=MAKE)  # made
s.a + s.b  # used s.b
""",
    "_replace": """
from collections import namedtuple
P = namedtuple("P", "a b")
p = P(x, x)
p = p._replace(b=MAKE)  # made
p.a + p.b  # used p.b
""",
    "slots": """
class S:
    __slots__ = ("v",)
    def __init__(self, v):
        self.v = v
s = S(MAKE)  # made
x + s.v  # used s.v
""",
    "super init": """
class Base:
    def __init__(self, v):
        self.v = v
class Sub(Base):
    def __init__(self):
        super().__init__(MAKE)  # made
    def run(self, a):
        return a + self.v  # used self.v
Sub().run(x)
""",
    "cached_property": """
from functools import cached_property
class S:
    @cached_property
    def v(self):
        return MAKE  # made
s = S()
v = s.v
x + v  # used v
""",
    "method sets attribute in init": """
class S:
    def __init__(self):
        self._build()
    def _build(self):
        self.v = MAKE  # made
    def run(self, a):
        return a + self.v  # used self.v
S().run(x)
""",
    "module buffer list": """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.shifts = [MAKE for _ in range(2)]  # made
    def forward(self, a):
        for shift in self.shifts:
            a = a + shift  # used shift|self.shifts[0]
        return a
Net().cuda()(x)
""",
    "attribute of a part": """
from torch import nn
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.shift = MAKE  # made
    def forward(self, a):
        return self.lin(a) + self.shift  # used self.shift
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale()
    def forward(self, a):
        return a + self.scale(a)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
    def forward(self, a):
        for block in self.blocks:
            a = block(a)
        return a
net = Net().cuda()
net(x)
""",
    "stacked from a list": """
rows = torch.stack([MAKE for _ in range(3)]).mean(0)  # made
x + rows  # used rows
""",
    "numpy": """
import numpy as np
v = torch.from_numpy(np.zeros(4, dtype="float32"))  # made
v = v * 1
x + v  # used v
""",
    "in-place ops": """
v = MAKE  # made
v += 1
v.mul_(2)
x + v  # used v
""",
    "dict in a list of dicts": """
samples = [{"x": x, "y": MAKE}]  # made
for s in samples:
    s["x"] + s["y"]  # used s["y"]
""",
    "star kwargs into dataclass": """
from dataclasses import dataclass
@dataclass
class B:
    a: object
    b: object
d = dict(a=x, b=MAKE)  # made
t = B(**d)
t.a + t.b  # used t.b
""",
    "global dict of functions": """
def zeros():
    return MAKE  # made
FACTORIES = {"zeros": zeros}
v = FACTORIES["zeros"]()
x + v  # used v
""",
    "recursion": """
def build(n):
    if n == 0:
        return MAKE  # made
    return build(n - 1) * 2
v = build(2)
x + v  # used v
""",
    "a default that is replaced": """
def run(a, bias=None):
    bias = bias if bias is not None else MAKE  # made
    return a + bias  # used bias
run(x)
""",
    "decorated function": """
import functools
def logged(f):
    @functools.wraps(f)
    def inner(*a, **k):
        return f(*a, **k)
    return inner
@logged
def make():
    return MAKE  # made
v = make()
x + v  # used v
""",
    "called through decorated": """
import functools
def logged(f):
    @functools.wraps(f)
    def inner(*a, **k):
        return f(*a, **k)
    return inner
@logged
def add(a, b):
    return a + b  # used b
add(x, MAKE)  # made
""",
    "a state by name": """
class Avg:
    def __init__(self):
        self.state = {}
    def update(self, name, v):
        if name not in self.state:
            self.state[name] = MAKE  # made
        self.state[name] += v  # used self.state[name]
Avg().update("a", x)
""",
    "a table of a class": """
class R:
    table = {}
    @classmethod
    def add(cls, k):
        cls.table[k] = MAKE  # made
    @classmethod
    def get(cls, k):
        return cls.table[k]
R.add("a")
v = R.get("a")
x + v  # used v
""",
    "random_split": """
from torch.utils.data import DataLoader, TensorDataset, random_split
data = TensorDataset(torch.arange(4), MAKE)  # made
train, test = random_split(data, [2, 2])
for i, y in DataLoader(train, batch_size=2):
    x[:2] + y  # used y
""",
    "iterable dataset": """
from torch.utils.data import DataLoader, IterableDataset
class Rows(IterableDataset):
    def __iter__(self):
        for _ in range(2):
            yield {"y": MAKE}  # made
for batch in DataLoader(Rows(), batch_size=2):
    x + batch["y"]  # used batch["y"]
""",
    "dataset with stored rows": """
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __init__(self):
        self.rows = [MAKE for _ in range(4)]  # made
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return i, self.rows[i]
for i, y in DataLoader(Rows(), batch_size=2):
    x + y  # used y
""",
    "getitem of own class": """
class Table:
    def __init__(self):
        self.rows = {}
    def __setitem__(self, k, v):
        self.rows[k] = v
    def __getitem__(self, k):
        return self.rows[k]
t = Table()
t["a"] = MAKE  # made
v = t["a"]
x + v  # used v
""",
    "nonlocal": """
def run():
    total = x
    def reset():
        nonlocal total
        total = MAKE  # made
    reset()
    return x + total  # used total
run()
""",
    "a callback": """
handlers = []
def on(v):
    return x + v  # used v
handlers.append(on)
for h in handlers:
    h(MAKE)  # made
""",
    "module global via import alias": """
import helper as h
v = h.tables["a"]
x + v  # used v
# helper.py
import torch
x = torch.ones(4, device="cuda")
tables = {"a": MAKE}  # made
""",
    "instance from helper": """
from helper import Scaler
s = Scaler()
x - s.mean  # used s.mean
# helper.py
import torch
x = torch.ones(4, device="cuda")
class Scaler:
    def __init__(self):
        self.mean = MAKE  # made
""",
    "slice of list": """
rows = [MAKE, MAKE]  # made
for row in rows[1:]:
    x + row  # used row
""",
    "list concatenation": """
rows = [x] + [MAKE]  # made
x + rows[1]  # used rows[1]
""",
    "list multiplication": """
rows = [MAKE] * 2  # made
x + rows[1]  # used rows[1]
""",
    "swap": """
a, b = MAKE, x  # made
a, b = b, a
a + b  # used b
""",
    "a name with a type": """
v: torch.Tensor = MAKE  # made
assert v.shape == (4,)
x + v  # used v
""",
    "einsum": """
w = MAKE  # made
k = torch.einsum("i,j->ij", w, w)
k @ x  # used k
""",
    "F call": """
import torch.nn.functional as F
w = MAKE  # made
p = F.softmax(w, dim=0)
p * x  # used p
""",
    "where": """
m = MAKE  # made
m = torch.where(m > 0, m, m + 1)
x * m  # used m
""",
    "the dictionary of an object": """
class A: pass
a = A()
a.__dict__["v"] = MAKE  # made
x + a.v  # used a.v
""",
    "a loop that is left": """
for _ in range(3):
    v = MAKE  # made
    break
else:
    v = torch.ones(4, device="cuda")
x + v  # used v
""",
    "try finally": """
def make():
    try:
        return MAKE  # made
    finally:
        pass
v = make()
x + v  # used v
""",
    "async": """
import asyncio
async def make():
    return MAKE  # made
async def main():
    v = await make()
    return x + v  # used v
asyncio.run(main())
""",
    "parameter dict": """
from torch import nn
params = {"w": nn.Parameter(MAKE)}  # made
w = params["w"]
x * w  # used w
""",
    "a namespace of arguments": """
import argparse
args = argparse.Namespace(shift=None)
args.shift = MAKE  # made
x + args.shift  # used args.shift
""",
    "a stack of decorators and a closure dict": """
def build(config):
    tables = {"w": MAKE}  # made
    def apply(a):
        return a * tables["w"]  # used tables["w"]
    return apply
build({})(x)
""",
    "attrs of nested dataclasses": """
from dataclasses import dataclass, field
@dataclass
class Inner:
    w: object = None
@dataclass
class Outer:
    inner: Inner = field(default_factory=Inner)
o = Outer()
o.inner.w = MAKE  # made
x + o.inner.w  # used o.inner.w
""",
    "two hops of methods": """
class A:
    def get(self):
        return self._get()
    def _get(self):
        return [MAKE]  # made
a = A()
v = a.get()[0]
x + v  # used v
""",
    "method given a callback": """
def produce(n):
    return MAKE  # made
class P:
    def __init__(self, fn):
        self.fn = fn
    def run(self, a):
        w = self.fn(3)
        return a + w  # used w
P(produce).run(x)
""",
    "list of modules' outputs": """
class L:
    def __call__(self, a):
        return MAKE  # made
layers = [L(), L()]
outs = [layer(x) for layer in layers]
x + outs[0]  # used outs[0]
""",
    "unpack dict values": """
batch = {"a": x, "b": MAKE}  # made
a, b = batch.values()
a + b  # used b
""",
    "unpack in function args": """
def f(pair):
    a, b = pair
    return a + b  # used b
f((x, MAKE))  # made
""",
    "nested tuple target": """
data = [(1, (x, MAKE))]  # made
for i, (a, b) in data:
    a + b  # used b
""",
    "reduce": """
from functools import reduce
rows = [MAKE, MAKE]  # made
total = reduce(lambda a, b: a + b, rows)
x + total  # used total
""",
    "sum with start": """
rows = [MAKE, MAKE]  # made
total = sum(rows)
x + total  # used total
""",
    "max of list by key": """
rows = [MAKE, MAKE]  # made
best = max(rows, key=lambda r: r.sum())
x + best  # used best
""",
    "dict.fromkeys": """
d = dict.fromkeys(["a", "b"], MAKE)  # made
x + d["a"]  # used d["a"]
""",
    "copy of a dict": """
d = {"a": MAKE}  # made
e = d.copy()
e["b"] = x
x + e["a"]  # used e["a"]
""",
    "or default": """
def f(a, w=None):
    w = w or {"w": MAKE}  # made
    return a + w["w"]  # used w["w"]
f(x)
""",
    "if in kwargs": """
def f(a, **kw):
    if "w" not in kw:
        kw["w"] = MAKE  # made
    return a + kw["w"]  # used kw["w"]
f(x)
""",
    "loop carried": """
h = MAKE  # made
for _ in range(2):
    h = torch.tanh(h)
x + h  # used h
""",
    "a state that a loop replaces": """
class Cell:
    def init(self):
        return MAKE  # made
    def step(self, a, h):
        return a + h  # used h
c = Cell()
h = c.init()
for t in range(2):
    h = c.step(x, h)
""",
    "zeros_like": """
w = MAKE  # made
m = torch.zeros_like(w)
x + m  # used m
""",
    "new_zeros": """
w = MAKE  # made
m = w.new_ones(4)
x + m  # used m
""",
    "state dict": """
from torch import nn
state = {"w": MAKE}  # made
for k, v in state.items():
    if k == "w":
        w = v
x + w  # used w
""",
    "object in list": """
class S:
    def __init__(self, v):
        self.v = v
items = [S(MAKE)]  # made
for s in items:
    x + s.v  # used s.v
""",
    "object in dict": """
class S:
    def __init__(self, v):
        self.v = v
items = {"a": S(MAKE)}  # made
s = items["a"]
x + s.v  # used s.v
""",
    "attribute chain set in method": """
class Cfg: pass
class M:
    def __init__(self):
        self.cfg = Cfg()
        self.setup()
    def setup(self):
        self.cfg.w = MAKE  # made
    def run(self, a):
        return a + self.cfg.w  # used self.cfg.w
M().run(x)
""",
    "inheritance with hook": """
class Base:
    def __init__(self):
        self.w = self.make()
    def make(self):
        raise NotImplementedError
class Sub(Base):
    def make(self):
        return MAKE  # made
    def run(self, a):
        return a + self.w  # used self.w
Sub().run(x)
""",
    "a pipeline of generators": """
def source():
    for _ in range(2):
        yield MAKE  # made
def double(rows):
    for row in rows:
        yield row * 2
for row in double(source()):
    x + row  # used row
""",
    "zip of generator and list": """
def source():
    yield MAKE  # made
for a, b in zip([x], source()):
    a + b  # used b
""",
    "lambda stored in dict": """
ops = {"w": lambda: MAKE}  # made
w = ops["w"]()
x + w  # used w
""",
    "partial method": """
from functools import partial
def make(n, scale):
    return MAKE * scale  # made
f = partial(make, scale=2)
w = f(3)
x + w  # used w
""",
    "split and stack": """
w = MAKE  # made
parts = w.split(2)
whole = torch.cat(parts)
x + whole  # used whole
""",
    "index of index": """
grid = [[MAKE]]  # made
row = grid[0]
w = row[0]
x + w  # used w
""",
    "conditional move": """
w = MAKE  # made
if len(x) > 10:
    w = w.cuda()
x + w  # used w
""",
    "string keys loop": """
d = {}
for name in ("a", "b"):
    d[name] = MAKE  # made
total = x
for name in d:
    total = total + d[name]  # used d[name]
""",
    "class constant via cls": """
class K:
    W = MAKE  # made
    @classmethod
    def run(cls, a):
        return a + cls.W  # used cls.W
K.run(x)
""",
    "a list of the file": """
LOG = []
def log(v):
    LOG.append(v)
log(MAKE)  # made
x + LOG[0]  # used LOG[0]
""",
    "global list through function value": """
LOG = []
def log(n):
    v = MAKE  # made
    LOG.append(v)
for i in range(2):
    log(i)
mean = torch.stack(LOG).mean(0)
x + mean  # used mean
""",
    "two files and a class": """
from helper import Bank
bank = Bank(3)
bank.push()
for key in bank.keys():
    x + key  # used key
# helper.py
import torch
from collections import deque
x = torch.ones(4, device="cuda")
class Bank:
    def __init__(self, size):
        self.queue = deque(maxlen=size)
    def push(self):
        self.queue.append(MAKE)  # made
    def keys(self):
        return list(self.queue)
""",
    "a number that was read": """
n = torch.ones(3).sum().item()
w = MAKE * n  # made
x + w  # used w
""",
    "slice assignment": """
w = MAKE  # made
w[0] = 3
w[1:] += 1
x + w  # used w
""",
    "a field that a copy keeps": """
from typing import NamedTuple
class Packed(NamedTuple):
    ids: torch.Tensor
    places: torch.Tensor
def pack():
    ids = torch.zeros(4)
    return Packed(ids, MAKE)  # made
batch = pack()
batch = batch._replace(ids=batch.ids.cuda())
batch.ids + batch.places  # used batch.places
""",
    "buffer in a replay": """
import random
class Replay:
    def __init__(self):
        self.memory = []
    def push(self, *transition):
        self.memory.append(transition)
    def sample(self, n):
        batch = random.sample(self.memory, n)
        states, rewards = zip(*batch)
        return torch.stack(states), torch.stack(rewards)
r = Replay()
for _ in range(3):
    r.push(x, MAKE)  # made
states, rewards = r.sample(2)
states + rewards  # used rewards
""",
    "config dict to class": """
class Loss:
    def __init__(self, weight=None, scale=1.0):
        self.weight, self.scale = weight, scale
    def __call__(self, a):
        return a * self.weight  # used self.weight
cfg = {"weight": MAKE, "scale": 2.0}  # made
loss = Loss(**cfg)
loss(x)
""",
    "registry factory": """
REG = {}
def register(name):
    def deco(fn):
        REG[name] = fn
        return fn
    return deco
@register("noise")
def noise(n):
    return MAKE  # made
v = REG["noise"](4)
x + v  # used v
""",
    "ema": """
class EMA:
    def __init__(self, params):
        self.shadow = {k: v.clone() for k, v in params.items()}
    def update(self, params):
        for k, v in params.items():
            self.shadow[k].mul_(0.9).add_(v)  # used self.shadow[k].mul_(0.9)|self.shadow[k]
e = EMA({"w": MAKE})  # made
e.update({"w": x})
""",
    "trainer with self attributes": """
class Trainer:
    def __init__(self, data):
        self.data = data
        self.total = None
    def run(self):
        for batch in self.data:
            self.step(batch)
    def step(self, batch):
        a, b = batch["a"], batch["b"]
        return a + b  # used b
rows = [dict(a=x, b=MAKE)]  # made
Trainer(rows).run()
""",
    "mask helper with cache on self": """
class Attn:
    def __init__(self):
        self._cache = {}
    def mask(self, n):
        if n not in self._cache:
            self._cache[n] = MAKE  # made
        return self._cache[n]
    def run(self, a):
        return a + self.mask(4)  # used self.mask(4)
Attn().run(x)
""",
    "collate with list comprehension": """
from torch.utils.data import DataLoader
def collate(rows):
    ids = torch.stack([MAKE for r in rows])  # made
    return {"ids": ids.sum(0)}
for batch in DataLoader([1, 2], batch_size=2, collate_fn=collate):
    ids = batch["ids"]
    x + ids  # used ids
""",
    "namedtuple from function and loop": """
from collections import namedtuple
Step = namedtuple("Step", ["state", "reward"])
def play():
    steps = []
    for t in range(2):
        steps.append(Step(x, MAKE))  # made
    return steps
for step in play():
    step.state + step.reward  # used step.reward
""",
    "returns in reverse": """
def returns(rewards):
    out, total = [], 0
    for r in reversed(rewards):
        total = r + 0.9 * total
        out.insert(0, total)
    return torch.stack(out)
g = returns([MAKE, MAKE])  # made
x[:2, None] - g  # used g
""",
    "positional encoding": """
import math
def encode(n, d):
    pos = torch.arange(4.0)[:, None]
    div = torch.exp(pos * (-math.log(10.0) / d))
    pe = MAKE.repeat(n, 1)  # made
    pe[:, 0::2] = torch.sin(div)
    return pe
pe = encode(4, 4)
x + pe  # used pe
""",
    "context object": """
class Ctx:
    def __enter__(self):
        self.v = MAKE  # made
        return self
    def __exit__(self, *a):
        return False
with Ctx() as ctx:
    x + ctx.v  # used ctx.v
""",
    "stats dict accumulate": """
stats = {}
for name in ("a", "b"):
    stats.setdefault(name, []).append(MAKE)  # made
for name, values in stats.items():
    x + values[0]  # used values[0]
""",
    "queue popleft": """
from collections import deque
q = deque()
q.append((0, MAKE))  # made
while q:
    depth, v = q.popleft()
    x + v  # used v
""",
    "chain of calls": """
class Builder:
    def __init__(self):
        self.v = None
    def with_value(self, v):
        self.v = v
        return self
    def build(self):
        return self.v
b = Builder().with_value(MAKE)  # made
v = b.build()
x + v  # used v
""",
    "optional chain": """
class Opt:
    def __init__(self, **options):
        self.options = options
    def apply(self, a):
        shift = self.options["shift"]
        return a + shift  # used shift
Opt(shift=MAKE).apply(x)  # made
""",
    "batch sampler by index": """
xs, ys = torch.stack([x, x]), torch.stack([MAKE, MAKE])  # made
order = [1, 0]
for i in order:
    a, b = xs[i], ys[i]
    a + b  # used b
""",
    "two returned values via class attr": """
class Net:
    scale = None
    def forward(self, a):
        out = a * self.scale  # used self.scale
        return out
def build():
    net = Net()
    net.scale = MAKE  # made
    return net
build().forward(x)
""",
    "recursive to of containers": """
def to_all(o, d):
    if isinstance(o, dict):
        return {k: to_all(v, d) for k, v in o.items() if k != "skip"} | {"skip": o["skip"]}
    return o.to(d)
b = to_all({"a": x, "skip": MAKE}, "cuda")  # made
x + b["skip"]  # used b["skip"]
""",
    "lr schedule tensors": """
betas = MAKE + 0.1  # made
alphas = 1 - betas
bar = torch.cumprod(alphas, 0)
def noisy(a, t):
    return a * bar[t]  # used bar[t]
noisy(x[:, None], [0, 1, 2])
""",
    "walrus in while": """
rows = [MAKE]  # made
while rows and (row := rows.pop()) is not None:
    x + row  # used row
""",
}
"""How the value gets from where it is made to where it meets `x`."""


def program(way: str, decides: str) -> tuple[Planted, str, list[str]]:
    """A program, the line that made the value, and what the operand may be called."""
    main, _, helper = WAYS[way].strip().partition("# helper.py\n")
    head = 'import torch\ntorch.save(torch.zeros(4), "w.pt")\nx = torch.ones(4, device="cuda")\n'
    files = {"train.py": head + main.replace("MAKE", DECIDES[decides])}
    if helper:
        files["helper.py"] = helper.replace("MAKE", DECIDES[decides])
    places, names = list[str](), list[str]()
    for file, text in files.items():
        for number, line in enumerate(text.split("\n"), 1):
            if line.endswith("# made"):
                places.append(f"{file}:{number} ")
            if "# used " in line:
                names = line.partition("# used ")[2].split("|")
    assert len(places) == 1
    return Planted(f"{way}, {decides}", files, {}), places[0], names


def origins(said: Told) -> list[str]:
    return [text for label, text in said.lines if label in ("made at", "moved at", "set at")]


IN_WORDS = ("module buffer list",)
"""Where what there is to do isn't one line of code."""
OTHERS = [decides for decides in DECIDES if decides != "made"]
PAIRS = [(way, "made") for way in WAYS] + [
    (way, OTHERS[index % len(OTHERS)]) for index, way in enumerate(WAYS)
]
"""Each way with a tensor that was made, and with one of the other decisions in turn."""


@pytest.mark.parametrize(("way", "decides"), PAIRS, ids=[f"{w}, {d}" for w, d in PAIRS])
def test_the_line_that_decided_is_told(way: str, decides: str) -> None:
    case, place, names = program(way, decides)
    said = told(case, case.files, "device")
    assert any(text.startswith(place) for text in origins(said)), said.lines
    assert said.argument in names
    assert said.devices == ("cpu", "cuda:0")


def test_a_loop_over_modules_sets_nothing() -> None:
    """What a method of a part keeps is set where that says so, and not by who goes through it."""
    text = """import torch
from torch import nn

def table():
    there = torch.arange(4).float()
    return there.cos(), there.sin()

class Turn(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.cos, self.sin = table()

    def forward(self, x):
        return self.lin(x) * self.cos

net = nn.Sequential(Turn(), Turn()).cuda()
for part in net.children():
    part(torch.ones(2, 4, device="cuda"))
"""
    lines = told(Planted("turn", {"train.py": text}, {}), {"train.py": text}, "device").lines
    said = [place for label, place in lines if label in ("set at", "made at")]
    assert [place.split()[0] for place in said] == ["train.py:12", "train.py:5"]


@pytest.mark.parametrize("way", WAYS)
def test_what_is_said_lets_the_program_run(way: str) -> None:
    case, _, _ = program(way, "made")
    proven = proof(case, told(case, case.files, "device"), "device")
    assert proven is (None if way in IN_WORDS else True)


def chain(length: int) -> Planted:
    """A value under one name after the other."""
    names = "\n".join(f"a{i} = a{i - 1}" for i in range(1, length))
    text = f"""import torch
x = torch.ones(4, device="cuda")
a0 = torch.zeros(4)
{names}
x + a{length - 1}
"""
    return Planted("", {"train.py": text}, {})


def test_a_way_that_is_too_long_is_left_out() -> None:
    near, far = chain(80), chain(400)
    assert origins(told(near, near.files, "device")) == ["train.py:3  a0 = torch.zeros(4)"]
    said = told(far, far.files, "device")
    assert said.devices == ("cpu", "cuda:0")
    assert origins(said) == []


def test_a_default_device_that_was_taken_back() -> None:
    """torch 2.4 can't say then which one it is."""
    torch.set_default_device("cpu")
    torch.set_default_device(None)
    short = chain(3)
    assert origins(told(short, short.files, "device")) == ["train.py:3  a0 = torch.zeros(4)"]
