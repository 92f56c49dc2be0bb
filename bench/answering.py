"""Processes that answer lines on an accelerator, and are started anew where one breaks."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

PATIENCE = 60.0
"""Seconds that an answer may take."""


Answer = dict[str, Any]


class Worker:
    """A process that answers each line with one, and another one if it ends."""

    def __init__(self, command: Sequence[str], patience: float = PATIENCE) -> None:
        self.command, self.patience = list(command), patience
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self.listen, args=(self.process, self.answers), daemon=True).start()

    @staticmethod
    def listen(process: subprocess.Popen[str], answers: queue.Queue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            answers.put(line)
        answers.put("")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def ask(self, line: str) -> Answer:
        """The answer, or `crash` and why there is none; of a fresh process where one broke."""
        for _ in range(2):
            answer = self._asked_once(line)
            if "crash" not in answer and answer["works"]:
                break
            self.stop()
            self.start()
        return answer

    def _asked_once(self, line: str) -> Answer:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.answers.get(timeout=self.patience)
        except queue.Empty:
            return {"crash": f"no answer within {self.patience:.0f} seconds"}
        except BrokenPipeError:
            answer = ""
        if answer:
            return dict(json.loads(answer))
        return {"crash": f"the process ended with {self.process.wait()}"}


def ask_all(lines: Sequence[str], command: Sequence[str], jobs: int) -> Iterator[Answer]:
    """The answer to each line, in order, of so many processes."""
    workers: queue.Queue[Worker] = queue.Queue()
    for _ in range(min(jobs, len(lines))):
        workers.put(Worker(command))

    def asked(line: str) -> Answer:
        worker = workers.get()
        try:
            return worker.ask(line)
        finally:
            workers.put(worker)

    try:
        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(asked, lines)
    finally:
        while not workers.empty():
            workers.get().stop()


def answer_lines(answered: Callable[[str], Mapping[str, Any]]) -> None:
    """Answer the lines of standard input, in a worker; what is printed meanwhile is no answer."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        answer = {**answered(line.strip()), "works": works()}
        print(json.dumps(answer), file=answers, flush=True)


def works() -> bool:
    """Whether the accelerator still does: CUDA doesn't recover from errors of its own."""
    try:
        return not torch.cuda.is_available() or torch.ones(2, device="cuda").sum().item() == 2
    except RuntimeError:
        return False


def accelerator() -> dict[str, object]:
    """This machine's accelerator, for a file of what was seen on it."""
    return {
        "card": torch.cuda.get_device_name(0),
        "devices": torch.cuda.device_count(),
        "torch": torch.__version__,
        "driver": driver(),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
    }


def driver() -> str:
    """The version of the driver, or "" where nobody says it."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    return ""
