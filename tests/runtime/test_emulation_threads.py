"""The emulation and threads: who may enter it, who may leave it, and who sees what."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from runtime.surface import changes, surface
from torch.overrides import TorchFunctionMode

import devlint

UNSEEN = "doesn't see the calls of this thread, which was running before"


class Caller:
    """A thread that calls functions for others."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)
        self(threading.get_ident)  # a pool starts its threads when it needs them

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._pool.submit(function, *arguments).result(60)

    def close(self) -> None:
        self._pool.shutdown()


@pytest.fixture
def other() -> Iterator[Caller]:
    with devlint.emulate("cuda"):
        pass  # torch imports some of its own modules at the first use
    caller = Caller()
    yield caller
    caller.close()


def here(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def is_emulated() -> bool:
    """Whether this thread can use an accelerator."""
    try:
        return bool(torch.ones(1, device="cuda").is_cuda)
    except (AssertionError, RuntimeError):
        return False


def pushed() -> int:
    """How many modes see this thread's calls."""
    return int(torch._C._len_torch_function_stack())


@pytest.mark.parametrize("enters_here", [True, False])
def test_one_thread_enters_and_another_leaves(other: Caller, enters_here: bool) -> None:
    first, second = (here, other) if enters_here else (other, here)
    before = surface()
    for _ in range(3):
        emulation = devlint.emulate("cuda", count=2)
        first(emulation.__enter__)
        assert first(pushed) == 1  # what another thread has left doesn't pile up
        assert first(is_emulated)
        second(emulation.__exit__)
        assert not torch.cuda.is_available()
        assert not first(is_emulated)
        assert not second(is_emulated)
    emulation.__exit__()  # the thread that has entered it comes to the end of its block as well
    other(emulation.__exit__)
    assert pushed() == other(pushed) == 0
    assert changes(before, surface()) == []


def test_leaving_twice_leaves_no_other_emulation(other: Caller) -> None:
    first = devlint.emulate("cuda")
    with first:
        pass
    with devlint.emulate("cuda", count=2):
        first.__exit__()
        other(first.__exit__)
        assert is_emulated()
        with pytest.raises(RuntimeError, match="an emulation of cuda:2 is on already"):
            first.__enter__()


def test_a_second_thread_is_told_who_has_entered(other: Caller) -> None:
    before = surface()
    first, second = devlint.emulate("cuda"), devlint.emulate("cuda", count=2)
    other(first.__enter__)
    with pytest.raises(RuntimeError, match=r"on already, entered in thread 'ThreadPool.*leave it"):
        second.__enter__()
    assert torch.cuda.device_count() == 1
    other(first.__exit__)
    with second:
        assert torch.cuda.device_count() == 2
    assert changes(before, surface()) == []


def test_many_threads_enter_and_leave_at_once() -> None:
    before = surface()
    start = threading.Barrier(4)

    def work(count: int) -> None:
        start.wait(60)
        entered = 0
        while entered < 3:
            emulation = devlint.emulate("cuda", count=count)
            try:
                emulation.__enter__()
            except RuntimeError as error:
                if "is on already" not in str(error):
                    raise
                continue
            try:
                assert torch.cuda.device_count() == count
                assert torch.ones(1, device=f"cuda:{count - 1}").get_device() == count - 1
            finally:
                emulation.__exit__()
            entered += 1
            assert pushed() == 0

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(1, 5)))
    assert changes(before, surface()) == []


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
def test_a_thread_that_was_there_before_is_told_why_it_has_no_devices(
    other: Caller, kind: str
) -> None:
    makers: tuple[Callable[[], Any], ...] = (
        lambda: torch.ones(2, device=kind),
        lambda: torch.ones(2).to(kind),
        lambda: torch.nn.Linear(2, 2).to(kind),
        lambda: torch.tensor([1], device=kind),
    )
    with devlint.emulate(kind):
        kept = torch.ones(2, device=kind)
        for make in makers:
            with pytest.raises(RuntimeError, match=UNSEEN):
                other(make)
            assert make() is not None
        assert torch.equal(other(lambda: kept + 1), torch.full((2,), 2.0))  # numbers are real


def test_a_thread_that_outlives_the_emulation_is_without_it_then() -> None:
    with devlint.emulate("cuda"):
        late = Caller()
        assert late(is_emulated)
    try:
        assert not late(is_emulated)
        assert str(late(lambda: torch.ones(1) + 1).device) == "cpu"
        with devlint.emulate("cuda"), pytest.raises(RuntimeError, match=UNSEEN):
            late(lambda: torch.ones(2, device="cuda"))
    finally:
        late.close()


def test_a_thread_of_the_emulation_may_leave_it() -> None:
    before = surface()
    emulation = devlint.emulate("cuda").__enter__()
    failed: list[Any] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(threading, "excepthook", failed.append)
        thread = threading.Thread(target=emulation.__exit__)
        thread.start()
        thread.join()
    assert failed == []
    assert not is_emulated()
    emulation.__exit__()
    assert changes(before, surface()) == []


class Names(TorchFunctionMode):
    """A mode of the program's own."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.called.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_contexts_may_be_left_in_another_order() -> None:
    def emulated() -> Iterator[None]:
        with devlint.emulate("cuda"):
            yield

    before = surface()
    held = emulated()
    next(held)
    with Names() as names:
        held.close()
        torch.ones(1)
        assert names.called == ["ones"]
        assert not torch.cuda.is_available()
    torch.zeros(1)
    assert names.called == ["ones"]
    assert changes(before, surface()) == []


def test_a_generator_may_be_thrown_away_by_another_thread(other: Caller) -> None:
    def emulated() -> Iterator[None]:
        with devlint.emulate("cuda"):
            yield

    before = surface()
    held = {"generator": emulated()}
    other(next, held["generator"])
    held.clear()
    gc.collect()
    assert not other(is_emulated)
    with devlint.emulate("cuda"):
        assert is_emulated()
    assert changes(before, surface()) == []


def test_tasks_share_the_emulation_of_one_of_them() -> None:
    async def emulated(entered: asyncio.Event, end: asyncio.Event) -> bool:
        with devlint.emulate("cuda"):
            entered.set()
            await end.wait()
            return await asyncio.to_thread(is_emulated)

    async def program() -> list[bool]:
        entered, end = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(emulated(entered, end))
        await entered.wait()
        found = [is_emulated()]
        end.set()
        return [*found, await task, is_emulated(), await asyncio.to_thread(is_emulated)]

    before = surface()
    assert asyncio.run(program()) == [True, True, False, False]
    assert changes(before, surface()) == []
