"""Where a plain tensor of a module meets what would be on the accelerator.

While a model runs for the first time, a function mode follows three kinds of tensors: the plain
ones, what is registered, and what the model was given. Each is followed through what is computed
from it, by its memory, until something moves it; from then on nothing is said of it. An operation
that needs all its tensors on one device, and gets a plain and a registered one, would fail after
`model.to(device)`. One that gets a plain tensor and an input would, if the input is there as well:
that is known once what it gives meets something that is registered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from devlint.runtime.explaining.stack import owner_of
from devlint.runtime.guard.calls import (
    ASKS_FOR_DEVICE,
    CHOOSES,
    DEVICE,
    INDEXING,
    LOOKS_AT_TYPE,
    any_names,
    arguments,
    frames,
    is_asked_by_torch,
    may_move,
    named,
)
from devlint.runtime.guard.errors import DeviceMismatchError
from devlint.runtime.guard.tensors import Plain
from devlint.runtime.virtual.mode_stack import FAST_PATHS, Onlooker
from devlint.runtime.virtual.tags import own_storage, tensors_in
from devlint.torchapi import Effect


class Kind(Enum):
    """Where a tensor would be once the model has been moved."""

    BEHIND = "behind"
    """On the CPU: a plain tensor, or computed from such alone."""
    MOVED = "moved"
    """With the model."""
    GIVEN = "given"
    """Where the caller has put it."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """A plain tensor, and where it met another."""

    plain: Plain
    file: str
    line: int


@dataclass(slots=True)
class _Followed:
    """What is known of one piece of memory."""

    kind: Kind | None
    """Nothing once it may have been moved."""
    alive: StorageWeakRef
    """Keeps the address from being used again."""
    plain: Plain | None = None
    unsure: Meeting | None = None
    """It was computed from an input and a plain tensor."""


Tell = Callable[[Meeting], None]
"""Is given a meeting, and may raise an error for it."""


class Watching(Onlooker):
    """Follows tensors while it is on, and tells of each sure meeting."""

    def __init__(
        self, plain: Sequence[Plain], moved: Iterable[Tensor], given: Iterable[Tensor], tell: Tell
    ) -> None:
        super().__init__()
        self._tell = tell
        self._memory: dict[int, _Followed] = {}
        for tensor in given:
            self._follow(tensor, Kind.GIVEN)
        for tensor in moved:
            self._follow(tensor, Kind.MOVED)
        for each in plain:
            self._follow(each.tensor, Kind.BEHIND, each)
        # Code of a library has no way of its own for the tensors of a program.
        self._kinds_of_code = frozenset(
            {"program", *(owner_of(each.stored.file) for each in plain)}
        )
        self._is_done = False

    def __enter__(self) -> Watching:
        FAST_PATHS.__enter__()
        super().__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        FAST_PATHS.__exit__()
        self._stop()

    def _stop(self) -> None:
        self._is_done = True
        self._memory.clear()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self._is_done:
            return func(*args, **kwargs)
        settle = None
        try:
            with torch._C.DisableTorchFunction():
                settle = self._look(func, args, kwargs)
        except DeviceMismatchError:
            self._stop()
            raise
        except Exception:  # whatever a tensor of an unusual kind answers, the program goes on
            self._stop()
        result = func(*args, **kwargs)
        if settle is not None:
            try:
                with torch._C.DisableTorchFunction():
                    settle(result)
            except Exception:  # as above
                self._stop()
        return result

    # --- what is known of tensors

    def _follow(
        self,
        tensor: Tensor,
        kind: Kind | None,
        plain: Plain | None = None,
        unsure: Meeting | None = None,
    ) -> None:
        storage = own_storage(tensor)
        if storage is not None:
            self._memory[storage._cdata] = _Followed(kind, StorageWeakRef(storage), plain, unsure)

    def _of(self, tensor: Tensor) -> _Followed | None:
        storage = own_storage(tensor)
        return None if storage is None else self._memory.get(storage._cdata)

    def _new(
        self, kind: Kind | None, plain: Plain | None, unsure: Meeting | None
    ) -> Callable[[Any], None]:
        """What follows the results of a call, those that aren't followed already."""

        def settle(result: Any) -> None:
            for tensor in tensors_in((result,)):
                known = self._of(tensor)
                if known is None:
                    self._follow(tensor, kind, plain, unsure)
                elif known.kind is Kind.GIVEN and unsure is not None:
                    known.unsure = known.unsure or unsure

        return settle

    def _forget(self, result: Any) -> None:
        """Results may be somewhere else; on the CPU they are often what was to be moved."""
        for tensor in tensors_in((result,)):
            self._follow(tensor, None)

    # --- what functions do

    def _look(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Callable[[Any], None] | None:
        name, row = named(func)
        if name in ASKS_FOR_DEVICE:
            self._asked(name, args)
            return None
        if may_move(row, args, kwargs):
            return self._forget
        if name in INDEXING:
            return self._indexed(args)
        if row is None:
            return self._computed(tensors_in((*args, *kwargs.values())))
        if row.effect is Effect.JOIN:
            return self._joined(arguments(row.operands, name, args, kwargs))
        if row.effect is Effect.INDEX:
            return self._indexed(list(arguments(row.operands, name, args, kwargs)))
        if row.effect is Effect.KEEP:
            return self._computed(arguments((row.of,), name, args, kwargs))
        if row.effect is Effect.CREATE_LIKE:
            return self._computed(arguments((row.like,), name, args, kwargs))
        if row.effect in (Effect.OPAQUE, Effect.OVERLAY):
            return self._computed(tensors_in((*args, *kwargs.values())))
        return None

    def _joined(self, operands: Iterable[Tensor]) -> Callable[[Any], None] | None:
        """All of them have to be on one device, and the result is there as well."""
        found = [self._of(tensor) for tensor in operands if tensor.dim() > 0]
        known = [each for each in found if each is not None and each.kind is not None]
        behind = [each for each in known if each.kind is Kind.BEHIND]
        moved = [each for each in known if each.kind is Kind.MOVED]
        given = [each for each in known if each.kind is Kind.GIVEN]
        if behind and moved:
            self._say(self._meeting(behind[0]))
        if moved:
            for each in given:
                self._say(each.unsure)
                each.kind = Kind.MOVED
            return self._new(Kind.MOVED, None, None)
        if given:
            unsure = next((each.unsure for each in given if each.unsure is not None), None)
            if unsure is None and behind:
                unsure = self._meeting(behind[0])
            return self._new(Kind.GIVEN, None, unsure)
        if behind and len(behind) == len(found):
            return self._new(Kind.BEHIND, behind[0].plain, None)
        return None

    def _indexed(self, args: tuple[Any, ...] | list[Any]) -> Callable[[Any], None] | None:
        """An index may be on the CPU, or where the tensor is. What is written may be anywhere."""
        if not args or not isinstance(args[0], Tensor):
            return None
        of = self._of(args[0])
        if of is None or of.kind is None:
            return None
        indices = [self._of(t) for t in tensors_in(args[1:2]) if t.dim() > 0]
        if of.kind is Kind.BEHIND:
            if any(each is not None and each.kind is Kind.MOVED for each in indices):
                self._say(self._meeting(of))
        return self._new(of.kind, of.plain, of.unsure)

    def _computed(self, tensors: Iterable[Tensor]) -> Callable[[Any], None] | None:
        """What is computed from tensors of one kind alone is of that kind."""
        found = [self._of(tensor) for tensor in tensors]
        kinds = {None if each is None else each.kind for each in found}
        if len(kinds) != 1 or found[0] is None or found[0].kind is None:
            return None
        unsure = next((e.unsure for e in found if e is not None and e.unsure is not None), None)
        return self._new(found[0].kind, found[0].plain, unsure)

    def _asked(self, name: str, args: tuple[Any, ...]) -> None:
        """The program looks where a tensor is: what it does then is its own."""
        if is_asked_by_torch():
            return
        asking = list(frames(self._kinds_of_code))
        if asking and (name != DEVICE or any_names(LOOKS_AT_TYPE, asking)):
            self._stop()
            return
        for tensor in tensors_in(args):
            known = self._of(tensor)
            if known is not None and known.kind is Kind.BEHIND:
                known.kind = None

    def _meeting(self, behind: _Followed) -> Meeting | None:
        frame = next(frames(), None)
        if frame is None or behind.plain is None or any_names(CHOOSES, frames()):
            return None
        return Meeting(behind.plain, frame.f_code.co_filename, frame.f_lineno)

    def _say(self, meeting: Meeting | None) -> None:
        if meeting is not None:
            self._tell(meeting)
