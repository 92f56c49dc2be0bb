"""What the worker processes of a loader run, and whether it uses an accelerator.

A loader may stand before or after the data set that it reads, so both are remembered, and put
together when the file has been interpreted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from devlint.flow.domain.keys import IN_NO_WORKER
from devlint.flow.domain.lattice import Device, Symbol, is_place_of_argument, names_accelerator
from devlint.flow.domain.values import Kind
from devlint.flow.effects.collation import called
from devlint.flow.facts import Elsewhere, WorkerUse
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.notes import Worked
from devlint.flow.frames.others import Use
from devlint.flow.frames.world import World
from devlint.model import ir
from devlint.model.reports import Hop

STARTERS = ("set_start_method", "set_forkserver_preload")
"""Functions by which processes start otherwise than as copies of the one that starts them."""

_RUN_BY_WORKERS = ("__getitem__", "__getitems__", "__iter__")


def told(world: World) -> Iterator[WorkerUse | Elsewhere]:
    """The uses of accelerators in what workers run: those of other files are told at the loader."""
    if world.processes.spawned:
        return
    for use, _ in _run(world, world.processes.uses.values()):
        yield use
    if world.project is not None:
        paths = {worked.file.path for worked in world.processes.run_by_workers.values()}
        for path in sorted(paths - {world.home.path}):
            for use, worked in _run(world, world.project.uses(path)):
                yield Elsewhere(worked.node, worked.context, use, use.context.function)


def _run(world: World, uses: Iterable[Use]) -> Iterator[tuple[WorkerUse, Worked]]:
    """Those that workers run, with the proof."""
    for function, owner, use in uses:
        worked = world.processes.run_by_workers.get(function)
        if worked is None and owner is not None and _is_reached(owner, function):
            worked = world.processes.run_by_workers.get(owner.node)
        if worked is not None:
            yield replace(use, proof=Hop(worked.node, worked.why)), worked


def _is_reached(owner: ClassInfo, function: ir.Node) -> bool:
    """Whether a method is what workers call of a data set, or is called by that."""
    reached = {name for name in _RUN_BY_WORKERS if name in owner.methods}
    for name in tuple(reached):
        reached |= owner.file.scan(owner.methods[name]).self_calls
    return any(owner.methods.get(name) is function for name in reached)


def note_loader(frame: Frame, node: ir.Call, args: Arguments) -> None:
    """A loader is made: where it has workers for sure, they run its data set and `collate_fn`."""
    count = args.keyword("num_workers")
    if frame.is_guest or count is None or not isinstance(count[1].data, int) or count[1].data <= 0:
        return
    how = args.find(("multiprocessing_context",))
    if how is not None and how[1].data != "fork" and how[1].kind is not Kind.NONE:
        return
    why = f"a loader runs it in {count[1].data} worker processes here"
    collate = called(frame, args.value(("collate_fn",)))
    function = None if collate is None else collate.function
    for found in (frame.class_of(args.value((0, "dataset"))), function):
        if found is not None:
            worked = Worked(node, why, found.file, frame.context())
            frame.world.processes.run_by_workers.setdefault(found.node, worked)


def note_call(frame: Frame, node: ir.Call, name: str) -> None:
    """A library's function is called: it may tell of workers, or of how they are started."""
    last = name.rpartition(".")[2]
    if last in STARTERS:
        frame.world.processes.spawned = True
        frame.world.answers.own += 1
    elif last == "get_worker_info" and frame.owner is not None and not frame.is_guest:
        why = "it asks here which worker process it is in"
        worked = Worked(node, why, frame.file, frame.context())
        frame.world.processes.run_by_workers.setdefault(frame.owner.node, worked)


def note_use(frame: Frame, node: ir.Call, device: Device) -> None:
    """Something is moved to a device, or made there."""
    function = frame.function
    if function is None or not frame.tells or node in frame.world.processes.uses:
        return
    if frame.state.known.get(IN_NO_WORKER):
        return
    place = frame.state.simplify(device)
    chosen = isinstance(place, Symbol) and not is_place_of_argument(place)
    if not (names_accelerator(place) or chosen):
        return
    around = frame.qualname.rpartition(".")[0]
    what = f"`{around}.{function.name}`" if around else f"`{function.name}`"
    fact = WorkerUse(node, frame.context(), what, place, Hop(node, ""))
    frame.world.processes.uses[node] = Use(function, frame.owner, fact)
