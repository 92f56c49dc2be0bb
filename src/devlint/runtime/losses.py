"""The losses of a program, as it computes their gradients."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import torch


class Losses:
    """Writes what `backward` begins at to a file: a line of JSON for each call, a list of numbers.

    Of a tensor with several items it is their sum. Only the process itself writes, and none that it
    starts. Raises `OSError` where the file can't be made.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._process = os.getpid()
        self._file: TextIO | None = None
        self._original: Any = None

    def __enter__(self) -> Losses:
        self._file = Path(self._path).open("w", encoding="utf-8")
        self._original = original = torch.autograd.backward

        @functools.wraps(original)
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            self._note(tensors)
            return original(tensors, *args, **kwargs)

        torch.autograd.backward = backward
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        torch.autograd.backward = self._original
        if self._file is not None:
            self._file.close()

    def _note(self, tensors: Any) -> None:
        if self._file is None or os.getpid() != self._process:
            return
        roots = (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors)
        values = [float(each.detach().sum().item()) for each in roots]
        self._file.write(f"{json.dumps(values)}\n")
        self._file.flush()
