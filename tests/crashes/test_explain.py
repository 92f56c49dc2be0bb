"""`devlint explain`: errors about devices in pasted tracebacks and logs."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from devlint.cli import main
from devlint.crashes.told import Told, explain_text

MET = (
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, "
    "cuda:0 and cpu!"
)
MAT1 = f"{MET} (when checking argument for argument mat1 in method wrapper_CUDA_addmm)"
NUMPY = (
    "TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the "
    "tensor to host memory first."
)
TORCH = "/env/lib/python3.11/site-packages/torch"

LAYER = f"""\
Traceback (most recent call last):
  File "/app/train.py", line 16, in <module>
    loss = model(batch)
           ^^^^^^^^^^^^
  File "{TORCH}/nn/modules/module.py", line 1532, in _wrapped_call_impl
    return self._call_impl(*args, **kwargs)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/app/model.py", line 9, in forward
    return self.head(x).relu()
           ^^^^^^^^^^^^
  File "{TORCH}/nn/modules/linear.py", line 125, in forward
    return F.linear(input, self.weight, self.bias)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
{MAT1}
"""

NOTEBOOK = f"""\
---------------------------------------------------------------------------
RuntimeError                              Traceback (most recent call last)
Cell In[3], line 5
      3 mask = torch.ones(4)
      4 x = batch.to(device)
----> 5 z = x + mask

File {TORCH}/_tensor.py:34, in _wrap(*args, **kwargs)
     33 try:
---> 34     return f(*args, **kwargs)

{MET}
"""

OLD_NOTEBOOK = f"""\
---------------------------------------------------------------------------
TypeError                                 Traceback (most recent call last)
<ipython-input-7-3b0c> in <module>
      1 y = net(x)
----> 2 plt.plot(y.numpy())

{NUMPY}
"""

WORKER = f"""\
Traceback (most recent call last):
  File "/app/train.py", line 3, in <module>
    for batch in loader:
RuntimeError: Caught TypeError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "{TORCH}/utils/data/_utils/worker.py", line 309, in _worker_loop
    data = fetcher.fetch(index)
  File "/app/data.py", line 7, in __getitem__
    return self.rows[index].numpy()
{NUMPY}
"""

COMPILED = """\
Traceback (most recent call last):
  File "/app/train.py", line 3, in <module>
    step(x)
torch._dynamo.exc.TorchRuntimeError: Failed running call_function <built-in function add>:
Unhandled FakeTensor Device Propagation for aten.add.Tensor, found two different devices cuda:0, cpu

from user code:
   File "/app/step.py", line 5, in step
    return x + torch.ones(3)

Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace
"""

THREAD = f"""\
Exception in thread Thread-1 (work):
Traceback (most recent call last):
  File "/env/lib/python3.11/threading.py", line 1045, in _bootstrap_inner
    self.run()
  File "/app/work.py", line 4, in work
    total += x
{MET}
Exception raised from common_device_check_failure at /pytorch/aten/src/ATen/Op.cpp:10 (most recent
frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x7f in libc10.so)
"""

CHAINED = f"""\
Traceback (most recent call last):
  File "/app/a.py", line 1, in f
    x.numpy()
{NUMPY}

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/b.py", line 2, in g
    raise ValueError("no")
ValueError: no
"""

GROUP = f"""\
  + Exception Group Traceback (most recent call last):
  |   File "/app/main.py", line 9, in <module>
  |     run()
  | ExceptionGroup: unhandled errors (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/app/task.py", line 4, in task
    |     return x + y
    | {MET}
    +------------------------------------
"""


def prefixed(text: str, *prefixes: str) -> str:
    """The lines of a text, each with the next of some prefixes."""
    lines = text.splitlines()
    return "".join(f"{prefixes[i % len(prefixes)]}{line}\n" for i, line in enumerate(lines))


def interleaved(*texts: str) -> str:
    rows = [text.splitlines() for text in texts]
    return "".join(f"{line}\n" for row in zip(*rows, strict=True) for line in row)


LOGS = {
    "a plain one": LAYER,
    "windows": LAYER.replace("\n", "\r\n"),
    "a logger's first line": "2024-05-01 12:00:01 ERROR root: " + LAYER,
    "a time on each line": prefixed(
        LAYER, "2024-05-01T12:00:01.123456Z stderr F ", "2024-05-01T12:00:01.9Z stderr F "
    ).replace("01.9Z", "02.000001Z"),
    "colours": LAYER.replace("RuntimeError", "\x1b[1;31mRuntimeError\x1b[0m").replace(
        "  File", "  \x1b[36mFile\x1b[m"
    ),
    "a bar of progress": f" 10%|#         | 1/10\r{LAYER}",
    "ranks": interleaved(prefixed(LAYER, "[rank0]: "), prefixed(LAYER, "[rank1]: ")),
    "other lines": f"epoch 1\nloss 0.5\n{LAYER}epoch 2\n",
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log(name: str) -> None:
    (told,) = explain_text(LOGS[name])
    assert told.headline == "self.head received x on cpu; its parameters are on cuda:0"
    assert (told.file, told.line, told.argument, told.code) == ("/app/model.py", 9, "x", "DEV201")
    assert told.fix == "move it before the call: x.to(next(self.head.parameters()).device)"
    assert dict(told.lines)["called at"] == "/app/train.py:16  loss = model(batch)"
    assert told.count == (2 if name == "ranks" else 1)


def one(text: str) -> Told:
    (told,) = explain_text(text)
    return told


def test_a_notebook() -> None:
    told = one(NOTEBOOK)
    assert (told.file, told.line) == ("cell 3", 5)
    assert dict(told.lines)["made at"] == "cell 3:3  mask = torch.ones(4)"
    assert told.fix == "move it first: mask.to(x.device)"
    told = one(OLD_NOTEBOOK)
    assert (told.file, told.line, told.argument) == ("<ipython-input-7-3b0c>", 2, "y")
    assert told.fix.endswith("y.detach().cpu().numpy()")


PYTEST = f"""\
=================================== FAILURES ===================================
________________________________ test_loss[mean] _______________________________

    def test_loss(reduction):
        x = torch.ones(2, device="cuda")
        weights = torch.ones(2)
        # a comment

>       loss = weights * x
               ^^^^^^^^^^^
E       {MET}

tests/test_loss.py:14: RuntimeError
__________________________________ test_model __________________________________

model = Net()

    def test_model(model):
>       model(torch.ones(3))

tests/test_model.py:6:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
package/model.py:9: in forward
    return self.head(x).relu()
           ^^^^^^^^^^^^
{TORCH}/nn/modules/linear.py:125: in forward
    return F.linear(input, self.weight, self.bias)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
E   {MAT1}
=============================== warnings summary ===============================
tests/test_loss.py:3: UserWarning: not an error
=========================== short test summary info ============================
FAILED tests/test_loss.py::test_loss[mean] - RuntimeError: Expected all tensors to b...
"""


@pytest.mark.parametrize("text", [PYTEST, prefixed(PYTEST, "2026-01-01T10:11:12.1234567Z ")])
def test_the_failures_of_pytest(text: str) -> None:
    loss, model = explain_text(text)
    assert (loss.file, loss.line) == ("tests/test_loss.py", 14)
    assert dict(loss.lines)["made at"] == "tests/test_loss.py:11  weights = torch.ones(2)"
    assert (model.file, model.line, model.argument) == ("package/model.py", 9, "x")
    assert dict(model.lines)["called at"] == "tests/test_model.py:6  model(torch.ones(3))"


def test_workers_threads_and_compiled_code() -> None:
    told = one(WORKER)
    assert (told.file, told.line, told.code) == ("/app/data.py", 7, "DEV205")
    assert dict(told.lines)["raised in"] == "DataLoader worker process 0"
    told = one(COMPILED)
    assert (told.file, told.line, told.argument) == ("/app/step.py", 5, "torch.ones(3)")
    assert dict(told.lines)["called at"] == "/app/train.py:3  step(x)"
    assert told.devices == ("cpu", "cuda:0")
    told = one(THREAD)
    assert (told.file, told.line) == ("/app/work.py", 4)
    assert dict(told.lines)["raised in"] == "Thread-1 (work)"
    assert dict(told.lines)["torch"] == MET


def test_an_error_among_others() -> None:
    assert [(told.file, told.line) for told in explain_text(CHAINED)] == [("/app/a.py", 1)]
    assert [(told.file, told.line) for told in explain_text(GROUP)] == [("/app/task.py", 4)]
    found = explain_text(LAYER + WORKER + LAYER)
    assert [(told.file, told.count) for told in found] == [
        ("/app/model.py", 2),
        ("/app/data.py", 1),
    ]


def test_an_error_without_a_traceback() -> None:
    told = one(f"12:00 ERROR step failed: {MET}\n")
    assert (told.file, told.line, told.devices) == ("", 0, ("cpu", "cuda:0"))
    assert one(f"{LAYER}\nretrying after {MAT1}\n").file == "/app/model.py"


@pytest.mark.parametrize(
    ("line", "message", "code"),
    [
        ('model.to("cuda")', "AssertionError: Torch not compiled with CUDA enabled", "DEV103"),
        ("model.cuda()", "AssertionError: Torch not compiled with CUDA enabled", "DEV101"),
        (
            'state = torch.load("a.pt")',
            "RuntimeError: Attempting to deserialize object on a CUDA device but "
            "torch.cuda.is_available() is False.",
            "DEV106",
        ),
        ("x.to('cuda:7')", "RuntimeError: CUDA error: invalid device ordinal", "DEV104"),
    ],
)
def test_other_kinds(line: str, message: str, code: str) -> None:
    text = f'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    {line}\n{message}'
    told = one(text)
    assert (told.line, told.code, bool(told.fix)) == (1, code, True)


def test_the_number_of_a_device_that_is_not_there() -> None:
    told = one(
        "Traceback (most recent call last):\n"
        '  File "a.py", line 1, in <lambda>\n    state = torch.load(f, map_location=lambda s, l: '
        "s.cuda(5))\nRuntimeError: CUDA error: invalid device ordinal"
    )
    assert told.headline == "cuda:5 isn't there: its number is too high"


@pytest.mark.parametrize("script", ["/env/bin/accelerate", "C:\\env\\Scripts\\accelerate"])
def test_a_script_of_an_installer_is_not_the_users(script: str) -> None:
    text = (
        "Traceback (most recent call last):\n"
        f'  File "{script}", line 8, in <module>\n    sys.exit(main())\n'
        '  File "/env/lib/python3.11/site-packages/acme/run.py", line 4, in main\n'
        f"    return a + b\n{MET}"
    )
    assert one(text).file == "/env/lib/python3.11/site-packages/acme/run.py"
    own = text.replace("sys.exit(main())", "main(a + b)")
    assert one(own).file == script


@pytest.mark.parametrize(
    ("line", "operand", "operator", "argument", "target"),
    [
        ("onehot.scatter_(1, labels, 1.0)", "index", "scatter__value", "labels", "onehot.device"),
        ("out = x.gather(index=i, dim=0)", "index", "gather", "i", "x.device"),
        ("torch.gather(self.x, 0, i[0])", "index", "gather", "i[0]", "self.x.device"),
        ("rows.index_add_(0, where, src)", "index", "index_add_", "where", '"cuda:0"'),
        ("x.index_select(0, keep)", "self", "_index_select", "x", "keep.device"),
        ("torch.mm(a, b.T)", "mat2", "mm", "b.T", "a.device"),
        # What another call of the line has compared, and what the table can't place.
        ("self.loss(x, y).gather(0, i)", "target", "nll_loss_forward", "", ""),
        ("x.gather(*where)", "index", "gather", "", ""),
        ("gather(x, 0, i)", "index", "gather", "", ""),
    ],
)
def test_what_torch_calls_an_argument(
    line: str, operand: str, operator: str, argument: str, target: str
) -> None:
    told = one(
        f'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    {line}\n'
        f"RuntimeError: Expected all tensors to be on the same device, but got {operand} is on "
        "cpu, different from other tensors on cuda:0 (when checking argument in method "
        f"wrapper_CUDA_{operator})\n"
    )
    assert told.argument == argument
    assert told.fix == (
        f"move it first: {argument}.to({target})"
        if argument
        else "move the one on cpu to cuda:0 before this line"
    )


def test_an_optimizer() -> None:
    told = one(
        "Traceback (most recent call last):\n"
        '  File "a.py", line 1, in f\n    optimizer.step()\n'
        f'  File "{TORCH}/optim/adam.py", line 226, in step\n    adam(\n{MET}'
    )
    assert (
        told.headline
        == "optimizer.step() works on parameters, gradients and states of cuda:0 and cpu"
    )
    assert told.rule == "optimizer-before-move"


def test_an_error_that_somebody_tells_again() -> None:
    told = one(
        "Traceback (most recent call last):\n"
        f'  File "a.py", line 1, in f\n    raise Failed(str(error)) from None\n{MET}'
    )
    assert told.headline == "an operation takes tensors on cuda:0 and cpu"


# --- the command


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log.txt").write_text(LAYER)
    assert main(["explain", str(tmp_path / "log.txt")]) == 0
    text = capsys.readouterr().out
    assert text.startswith("self.head received x on cpu; its parameters are on cuda:0\n")
    assert "\n  used at    /app/model.py:9  return self.head(x).relu()\n" in text
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LAYER.encode())))
    assert main(["explain"]) == 0
    assert capsys.readouterr().out == text
    assert main(["explain", str(tmp_path / "log.txt"), "--output-format", "json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert (record["file"], record["line"], record["code"]) == ("/app/model.py", 9, "DEV201")
    (tmp_path / "log.txt").write_text("Traceback (most recent call last):\nValueError: no\n")
    assert main(["explain", str(tmp_path / "log.txt")]) == 0
    assert capsys.readouterr().out == "No error about devices was found.\n"
    assert main(["explain", str(tmp_path / "missing")]) == 2
    assert "missing: No such file or directory" in capsys.readouterr().err


def test_it_needs_no_torch_and_reads_no_file_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("a\n" * 8 + "secret = 1\n")
    log = LAYER.replace("/app/", f"{tmp_path}/").replace("    return self.head(x).relu()\n", "")
    code = (
        "import sys; from devlint.cli import main; main(['explain']); "
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=log, text=True, capture_output=True)
    assert (done.returncode, f"{tmp_path}/model.py:9" in done.stdout) == (0, True)
    assert "secret" not in done.stdout


def test_what_a_log_says_gives_no_orders(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = LAYER.replace("self.head(x)", "self.head(\u202ex)").replace("model.py", "m\x07##[error]")
    (tmp_path / "log.txt").write_text(text)
    assert main(["explain", str(tmp_path / "log.txt")]) == 0
    out = capsys.readouterr().out
    assert "\\x07" in out
    assert not {"\x07", "\u202e"} & set(out)
    assert "##[error]" not in out


HOSTILE = {
    "prefixes": "1:1::" * 40 + "Traceback (most recent call last):\n",
    "blanks": " " * 300 + "Traceback (most recent call last):\n",
    "names": "a" * 9000 + "Traceback (most recent call last):\n",
    "kernels": LAYER.replace(MAT1, "RuntimeError: cpu " + "dot " * 2500),
    "brackets": LAYER.replace("self.head(x)", "(" * 5000),
    "heads": "E  Traceback (most recent call last)\n" + "a in b(" * 1400 + "\n",
    "escapes": "\x1b[" * 5000 + "\n",
    "errors": "AError: cpu " * 800 + "\n",
    "places": "a:1: " * 1500 + "\n> a\nE   RuntimeError: cpu\na:1: RuntimeError\n",
    "rules": "_" * 2000 + " a\n" + "E " * 2000 + "\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_time_grows_with_the_length(name: str) -> None:
    text = HOSTILE[name]
    start = time.perf_counter()
    explain_text(text * (1_000_000 // len(text)))
    assert time.perf_counter() - start < 20
