"""`devlint run`: programs run as Python itself would run them, but for the devices they find."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from torch import nn
from warm import Ran, Warm

from devlint.cli import main


def python(folder: Path, *words: str, stdin: str = "", **environment: str) -> Ran:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **environment},
        input=stdin.encode(),
        capture_output=True,
        timeout=120,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def devlint_run(folder: Path, *words: str, stdin: str = "", **environment: str) -> Ran:
    return python(folder, "-m", "devlint", "run", *words, stdin=stdin, **environment)


@pytest.fixture(autouse=True)
def no_mode_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEVLINT_GUARD", raising=False)


FACTS = """
import json, pickle, sys
class Box: pass
def annotated(x: 1 + 1): pass
names = ["__name__", "__file__", "__package__", "__cached__", "__doc__"]
spec = __spec__ and [__spec__.name, __spec__.origin, __spec__.parent]
print(json.dumps([
    sys.argv, sys.path, [globals().get(name) for name in names], spec, str(type(__loader__)),
    str(type(__builtins__)), sys.modules["__main__"].__dict__ is globals(),
    type(pickle.loads(pickle.dumps(Box()))) is Box, annotated.__annotations__["x"],
    sys._getframe().f_code.co_filename, sys.stdout.errors, sys.stdin.read(),
]))
"""

FAILS_IN_ITS_OWN_WAY = """
def hook(kind, error, trace):
    print("hook", kind.__name__, trace.tb_frame.f_code.co_name, file=sys.stderr)
    sys.__excepthook__(kind, error, trace)
sys.excepthook = hook
def fail():
    try:
        {}["key"]
    except KeyError as error:
        raise ValueError("wrong") from error
fail()
"""

INTERRUPTED = """
import atexit, os, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
def late():
    time.sleep(0.3)
    print("thread")
atexit.register(print, "exit")
threading.Thread(target=late).start()
os.kill(os.getpid(), signal.SIGINT)
time.sleep(30)
"""

FORMS = {
    "a script": (["the folder/show.py", "--emulate", "mps", "-m", "--", "-h"], 1),
    "a package": (["-m", "pkg", "-m", "x"], 1),
    "a zip file": (["app.zip", "--transfers"], 7),
    "standard input": (["-", "--help"], 0),
    "an interrupt": (["interrupted.py"], -2),
    "a script with a mistake": (["broken.py"], 1),
    "a folder without __main__": (["the folder"], None),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_is_as_with_python(tmp_path: Path, form: str) -> None:
    pkg, folder = tmp_path / "pkg", tmp_path / "the folder"
    pkg.mkdir()
    folder.mkdir()
    (folder / "real.py").write_text('"""Text."""' + FACTS + FAILS_IN_ITS_OWN_WAY)
    (folder / "show.py").symlink_to("real.py")
    (pkg / "__init__.py").write_text("import sys; print(sys.argv)\n")
    (pkg / "__main__.py").write_text(f"{FACTS}\nfrom . import tool\nsys.exit('the end')\n")
    (pkg / "tool.py").write_text("print(__name__)\n")
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as file:
        file.writestr("__main__.py", f"{FACTS}\nsys.exit(7)\n")
    (tmp_path / "interrupted.py").write_text(INTERRUPTED)
    (tmp_path / "broken.py").write_text("x = (\n")
    words, code = FORMS[form]
    stdin = FACTS if form == "standard input" else "some\ninput"
    expected = python(tmp_path, *words, stdin=stdin)
    ran = devlint_run(tmp_path, "--emulate", "cuda", *words, stdin=stdin)
    if code is None:
        assert ran == Ran(2, "", "devlint: the folder: there is no `__main__` in it to run\n")
        assert expected.code == 1
    else:
        assert ran == expected
        assert ran.code == code


TRAIN = """
import atexit, multiprocessing, os, sys, threading
import torch

class Job:
    def __init__(self, index):
        self.index = index

def work(job):
    print("child", torch.cuda.device_count(), torch.ones(1, device=f"cuda:{job.index}").device)
    torch.ones(2, device="cuda") + torch.ones(2)

def late(name):
    print(name, torch.ones(1, device="cuda:1").device)

def step(x):
    return torch.nn.functional.linear(x, torch.ones(3, 3))

def main():
    if os.fork() == 0:
        sys.exit()
    os.wait()
    child = multiprocessing.get_context("spawn").Process(target=work, args=(Job(1),))
    child.start()
    child.join()
    print("child", child.exitcode, flush=True)
    threading.Thread(target=late, args=("thread",)).start()
    atexit.register(late, "at exit")
    for _ in range(2):
        torch.compile(step)
    try:
        step(torch.ones(3, 3, device="cuda"))
    except RuntimeError as error:
        after = ValueError("a step failed")
        after.__notes__ = ["a note"]
        raise after from error

if __name__ == "__main__":
    main()
"""


def test_a_program_meets_the_devices_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    ran = devlint_run(tmp_path, "--guard", "explain", "--emulate", "cuda:2", "train.py")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "child 2 cuda:1",
        "child 1",
        "thread cuda:1",
        "at exit cuda:1",
    ]
    of_child, _, own = ran.err.partition("Traceback")[2].partition("\nTraceback")
    text = "RuntimeError: Expected all tensors to be on the same device, but "
    assert f"\n{text}" in of_child
    lines = own.splitlines()
    cause = lines.index("The above exception was the direct cause of the following exception:")
    (message,) = [line for line in lines[:cause] if line.startswith(text)]
    assert "cuda:0" in message
    assert lines[-3:] == [
        "ValueError: a step failed",
        "a note",
        "devlint: not emulated: torch.compile: the code runs eagerly (2 times)",
    ]
    shown = [line for line in lines if line.startswith("  File")]
    assert [line.rpartition(" ")[2] for line in shown] == ["main", "step", "<module>", "main"]


def test_an_error_of_a_package_is_its_own(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("import missing_one\n")
    (tmp_path / "pkg" / "tool.py").write_text("")
    ran = warm.devlint_run(tmp_path, "--emulate=cuda", "-mpkg.tool")
    assert ran.code == 1
    first, place, *_, last = ran.err.splitlines()
    assert first == "Traceback (most recent call last):"
    assert place == f'  File "{tmp_path}/pkg/__init__.py", line 1, in <module>'
    assert last == "ModuleNotFoundError: No module named 'missing_one'"


def test_transfers(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "copying.py").write_text(
        "import os, sys, torch\nos.chdir('away')\nsys.stderr = None\n"
        "x = torch.ones(1000, device='cuda')\nx.cpu()\nprint('done')\n"
    )
    options = ("--transfers", "--transfers-file", "copies.json")
    ran = warm.devlint_run(tmp_path, "--emulate", "cuda", *options, "-m", "copying")
    assert (ran.code, ran.out) == (0, "done\n")
    assert "copying.py" in ran.err
    record = json.loads((tmp_path / "copies.json").read_text())
    assert "copying.py" in json.dumps(record)


GUARDED = """
import sys
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x)

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = Net().to(device)
optimizer = torch.optim.Adam(model.parameters()) if "adam" in sys.argv else None
for _ in range(2):
    x = torch.randn(3, 4)
    if "input" not in sys.argv:
        x = x.to(device)
    loss = model(x).square().mean()
    loss.backward()
    if optimizer is not None:  # its import takes long
        optimizer.step()
    print(loss.item())
loss + torch.ones(1) if "outside" in sys.argv else None
loss.detach().numpy() if "numpy" in sys.argv else None
torch.ones(2, 3) @ torch.ones(2, 3) if "shape" in sys.argv else None
if "hook" in sys.argv:
    sys.excepthook = lambda kind, error, trace: print(kind.__name__, str(error).splitlines()[0])
    torch.ones(2, device=device) + torch.ones(2)
"""


def test_a_program_in_which_all_is_well(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(GUARDED)
    expected = python(tmp_path, "train.py", "adam")
    assert expected.code == 0
    ran = devlint_run(tmp_path, "train.py", "adam")
    said = "devlint: no device mismatch: 2 modules checked\n"
    assert ran == Ran(0, expected.out, expected.err + said)
    ran = devlint_run(tmp_path, "--emulate", "cuda", "train.py", "adam")
    said = "devlint: no device mismatch: 2 modules checked on cuda (emulated), 1 copy a step\n"
    assert ran == Ran(0, expected.out, expected.err + said)


WELL_OR_NOT = {
    "nothing is used": ("pass", ""),
    "no module": (
        "torch.ones(2, device='cuda') + 1",
        "devlint: no device mismatch on cuda (emulated)\n",
    ),
    "a module on the CPU": (
        "torch.nn.Linear(2, 2)(torch.ones(2))",
        "devlint: no device mismatch: 1 module checked\n",
    ),
    "it leaves by itself": (
        "torch.ones(2, device='cuda'); sys.exit()",
        "devlint: no device mismatch on cuda (emulated)\n",
    ),
    "it says that it failed": ("torch.ones(2, device='cuda'); sys.exit(3)", ""),
    "an error that it has caught": (
        "with contextlib.suppress(RuntimeError): torch.ones(2) + torch.ones(2, device='cuda')",
        "",
    ),
    "an error of a layer that it has caught": (
        "with contextlib.suppress(RuntimeError):\n"
        "    torch.nn.Linear(2, 2)(torch.ones(2, device='cuda'))",
        "",
    ),
}


@pytest.mark.parametrize("name", WELL_OR_NOT)
def test_nothing_is_said_to_be_well_that_is_not(warm: Warm, tmp_path: Path, name: str) -> None:
    code, said = WELL_OR_NOT[name]
    (tmp_path / "a.py").write_text(f"import contextlib, sys, torch\n{code}\n")
    assert warm.devlint_run(tmp_path, "--emulate", "cuda", "a.py").err == said


def test_a_trace_adds_a_table_and_nothing_else(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(GUARDED)
    expected = python(tmp_path, "train.py", "shape")
    assert expected.code == 1
    ran = warm.devlint_run(tmp_path, "--emulate", "cuda", "--guard", "trace", "train.py", "shape")
    assert (ran.code, ran.out) == (expected.code, expected.out)
    assert ran.err.startswith(f"{expected.err}train.py:21 waits for the device 2 times\n\nline ")
    assert ran.err.count("cpu to cuda:0 x2") == 2


EXPLAINED = [
    ("input", "strict", "devlint.DeviceMismatchError", "layer (Linear) received args[0] on cpu"),
    ("input", "explain", "RuntimeError", "layer (Linear) received args[0] on cpu"),
    ("outside", "strict", "devlint.DeviceMismatchError", "takes"),
    ("numpy", "strict", "TypeError", "numpy needs it on cpu"),
]


@pytest.mark.parametrize(("mistake", "mode", "kind", "text"), EXPLAINED)
def test_an_error_is_explained_once(
    warm: Warm, tmp_path: Path, mistake: str, mode: str, kind: str, text: str
) -> None:
    (tmp_path / "train.py").write_text(GUARDED)
    ran = warm.devlint_run(tmp_path, "--emulate", "cuda", "train.py", mistake, DEVLINT_GUARD=mode)
    assert ran.code == 1
    lines = ran.err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == f'  File "{tmp_path}/train.py", line {lines[1].split()[3]} in <module>'
    assert sum(line.startswith(f"{kind}: ") for line in lines) == 1
    assert ran.err.count(text) == 1
    assert ran.err.count("devlint rule DEV2") == 1
    assert str(Path("devlint", "runtime")) not in ran.err
    frames = [line for line in lines if line.startswith('  File "')]
    assert frames[-1].startswith(f'  File "{tmp_path}/train.py"')


def test_a_hook_of_the_program_is_told_too(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(GUARDED)
    ran = warm.devlint_run(tmp_path, "--emulate", "cuda", "train.py", "hook")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.splitlines()[-1].startswith("DeviceMismatchError torch.ones(2, device=device) +")


def test_a_report(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"import os\nos.chdir('/')\n{GUARDED}")
    options = ("--report", "out/deep", "--transfers-file", "copies.json")
    ran = warm.devlint_run(tmp_path, *options, "train.py", RANK="1", WORLD_SIZE="2")
    # It is noted by a guard that traces, and no table is asked for.
    said = "devlint: rank 1 of 2:\ndevlint: no device mismatch: 2 modules checked\n"
    assert (ran.code, ran.err) == (0, said)
    folder = tmp_path / "out" / "deep" / "rank1"
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "transfers.json"]
    assert json.loads((tmp_path / "copies.rank1.json").read_text())["copies"] == 0


def test_a_mode_that_there_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--guard", "loud", "a.py"]) == 2
    told = "devlint: --guard must be one of off, explain, strict, trace, collect, not `loud`\n"
    assert capsys.readouterr().err == told
    monkeypatch.setenv("DEVLINT_GUARD", "loud")
    assert main(["run", "a.py"]) == 2
    text = "devlint: DEVLINT_GUARD=loud: it is off, explain, strict, trace or collect\n"
    assert capsys.readouterr().err == text


RANKS = """
import os
import torch
from torch import nn

device = f"cuda:{os.environ['LOCAL_RANK']}"
nn.Linear(2, 2).to(device)(torch.ones(1, 2))
"""


def test_each_rank_says_who_it_is(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RANKS)
    launcher = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--no-python")
    program = (sys.executable, "-m", "devlint", "run", "--emulate", "cuda:2", "train.py")
    ran = python(tmp_path, *launcher, *program, OMP_NUM_THREADS="1")
    assert ran.code == 1
    reports = re.findall(
        r"^devlint: rank (\d) of 2, local rank (\d):\n"
        r"Traceback.*\n  File .*train.py.*(?:\n    .*)*\n"
        r"devlint\.DeviceMismatchError: Linear received args\[0\] on cpu; .* on cuda:(\d)\n"
        r"(?:  \w.*\n)*  more .*DEV201",
        ran.err,
        re.MULTILINE,
    )
    assert sorted(set(reports)) in ([("0",) * 3, ("1",) * 3], [("0",) * 3], [("1",) * 3])
    assert len(reports) == ran.err.count("DeviceMismatchError")


MISTAKES = {
    ("--emulate", "rocm", "a.py"): "'rocm' can't be emulated: choose one of cuda, mps, xpu",
    ("--emulate", "mps:2", "a.py"): "2 devices of kind 'mps' can't be emulated: 1 only",
    ("--emulate", "cuda", "missing.py"): "missing.py: No such file or directory",
    ("--emulate", "cuda", "-m", "missing"): "there is no module `missing`",
    ("--emulate", "cuda", "-m", "missing.part"): "there is no module `missing.part`",
    ("--emulate", "cuda", "-m", "plain.part"): "there is no module `plain.part`",
    ("--emulate", "cuda", "-m", ".plain"): "there is no module `.plain`",
    ("--emulate", "cuda", "-m", "plain.py"): (
        "there is no module `plain.py`; to run a file, leave out `-m`"
    ),
    ("--emulate", "cuda", "-m", "sys"): "the module `sys` has no Python code to run",
    ("--emulate", "cuda", "-m", "folder"): "the package `folder` has no module `__main__` to run",
    ("--emulate", "cuda", "--transfers-file", "no/such", "plain.py"): (
        "no/such: can't be written: No such file or directory"
    ),
    ("--report", "plain.py", "a.py"): "plain.py: can't be written: File exists",
    ("--report", "plain.py/x", "a.py"): "plain.py/x: can't be written: Not a directory",
    ("--report", "out", "-m", "missing"): "there is no module `missing`",
    ("--guard", "strict", "--transfers", "a.py"): (
        "--transfers needs --guard trace, or an emulation"
    ),
    ("--guard", "off", "--transfers-file", "x.json", "a.py"): (
        "--transfers-file needs --guard trace, or an emulation"
    ),
    ("--guard",): "argument --guard: expected one argument",
    (): "name a script to run, or a module with -m",
    ("--emulate", "cuda"): "name a script to run, or a module with -m",
    ("--emulate",): "argument --emulate: expected one argument",
    ("--emulat", "cuda", "a.py"): 'unknown option `--emulat`; did you mean "--emulate"?',
}


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_a_mistake_is_one_plain_line(
    tmp_path: Path,
    words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__init__.py").write_text("")
    for name in ("a.py", "plain.py"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    hooks = nn.Module._call_impl, sys.excepthook, threading.excepthook
    assert main(["run", *words]) == 2
    assert capsys.readouterr() == ("", f"devlint: {MISTAKES[words]}\n")
    assert (nn.Module._call_impl, sys.excepthook, threading.excepthook) == hooks
    for name in ("folder", "plain"):
        sys.modules.pop(name, None)


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
from devlint.cli import main
sys.exit(main())
"""


def test_without_torch(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    ran = python(tmp_path, "-c", WITHOUT_TORCH, "run", "--emulate", "cuda", "a.py")
    text = "devlint: running a program needs torch: pip install torch\n"
    assert ran == Ran(2, "", text)


# --- numbers that can be compared ------------------------------------------------------------

DRAWS = """
import random
import numpy
import torch
x = torch.rand(2, requires_grad=True)
(x.sum() * random.random() * numpy.random.rand()).backward()
torch.autograd.backward([x.sum(), x.prod()])
(x * 2).backward(torch.ones(2))
print(x.sum().item())
"""


def test_losses_are_written_to_the_digit_and_start_from_one_seed(tmp_path: Path) -> None:
    (tmp_path / "draws.py").write_text(DRAWS)
    found = []
    for words in (("--seed", "3"), ("--seed", "3", "--guard", "off"), ("--seed", "4"), ()):
        ran = devlint_run(tmp_path, *words, "--losses", "losses.jsonl", "draws.py")
        assert ran.code == 0, ran.err
        lines = (tmp_path / "losses.jsonl").read_text().splitlines()
        found.append([json.loads(line) for line in lines])
        assert [len(each) for each in found[-1]] == [1, 2, 1]
        assert found[-1][1][0] == float(ran.out)
        assert found[-1][2] == [pytest.approx(2 * float(ran.out))]
    assert found[0] == found[1]
    assert found[0] != found[2] != found[3]


def test_losses_and_seeds_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "draws.py").write_text(DRAWS)
    ran = devlint_run(tmp_path, "--losses", "nowhere/losses.jsonl", "draws.py")
    assert ran.code == 2
    assert ran.err == "devlint: nowhere/losses.jsonl: can't be written: No such file or directory\n"
    ran = devlint_run(tmp_path, "--seed", "-1", "draws.py")
    assert (ran.code, ran.out) == (2, "")
