"""float64 that goes to the device: MPS takes none, and gets float32."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from devlint.migrate.scene import Scene
from devlint.migrate.syntax import argument, is_cuda_text, with_args

_NAMES = frozenset({"torch.float64", "torch.double"})
_CUDA = m.Call(func=m.Attribute(attr=m.Name("cuda")))


def made(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`torch.zeros(3, dtype=torch.float64, device="cuda")`."""
    device = argument(original, len(original.args), "device")
    if device is None or not is_cuda_text(device.value):
        return None
    return _with_dtype(scene, original, updated)


def buffer(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`self.register_buffer(name, x.double())`, which goes with its module."""
    above = scene.parent(original)
    while above is not None and not m.matches(above, _BUFFER):
        if isinstance(above, (cst.BaseStatement, cst.BaseSmallStatement)):
            return None
        above = scene.parent(above)
    return _as_double(scene, original, updated) or _with_dtype(scene, original, updated)


_BUFFER = m.Call(func=m.Attribute(attr=m.Name("register_buffer")))


def moved(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`x.double().cuda()`."""
    above = scene.parent(original)
    call = None if above is None else scene.parent(above)
    if call is None or not m.matches(call, _CUDA):
        return None
    return _as_double(scene, original, updated)


def _as_double(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`x.double()` as a move to a dtype that the device takes."""
    if not m.matches(original, m.Call(func=m.Attribute(attr=m.Name("double")), args=[])):
        return None
    assert isinstance(updated.func, cst.Attribute)
    scene.done["float64"] += 1
    func = updated.func.with_changes(attr=cst.Name("to"))
    return with_args(updated.with_changes(func=func), cst.Arg(_dtype(scene, original)))


def _with_dtype(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """A call with a dtype that the device takes."""
    given = argument(original, len(original.args), "dtype")
    if given is None or scene.library(given.value) not in _NAMES:
        return None
    place = original.args.index(given)
    args = [*updated.args]
    args[place] = args[place].with_changes(value=_dtype(scene, original))
    scene.done["float64"] += 1
    return updated.with_changes(args=args)


def _dtype(scene: Scene, node: cst.CSTNode) -> cst.BaseExpression:
    kind = scene.device(node).type
    return scene.code(f'torch.float32 if {kind} == "mps" else torch.float64')
