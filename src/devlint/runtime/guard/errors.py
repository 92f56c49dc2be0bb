"""The error of a strict guard, and what it leaves of its traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from devlint.runtime.explain import Explanation
from devlint.runtime.explaining.stack import owner_of

_HERE = str(Path(__file__).parent)


class DeviceMismatchError(RuntimeError):
    """Tensors of two devices met, or were about to.

    A guard raises it before the kernels of a layer run, or in the place of PyTorch's own error.
    Its text is the explanation, and under it PyTorch's words where there were any.
    """

    explanation: Explanation | None = None
    """What was found: the module, the argument, the devices, the rule and the fix."""
    torch_message: str = ""
    """PyTorch's own words; empty where the guard was first."""

    __module__ = "devlint"  # as it is imported, and so as it is shown

    @classmethod
    def of(
        cls, explanation: Explanation, torch_message: str = "", instead: str = ""
    ) -> DeviceMismatchError:
        """The error that says what an explanation says.

        Args:
            explanation: what was found.
            torch_message: PyTorch's own words.
            instead: what stands for them where the guard was first, since programs and tests look
                for such words.
        """
        text = explanation.as_text()
        words = torch_message.strip().partition("\n")[0] or instead
        if words:
            text += f"\n  {'torch':9}  {words}"
        error = cls(text)
        error.explanation = explanation
        error.torch_message = torch_message
        # Whoever explains errors finds that this one is explained already.
        error.devlint_explanation = explanation  # type: ignore[attr-defined]
        return error


class EarlyReadWarning(UserWarning):
    """A copy to the host is read before it has arrived. The mode `trace` warns of it."""

    __module__ = "devlint"


def hide(error: BaseException) -> None:
    """Take the guard's frames out of an error's traceback, all but the one that has caught it."""
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        if entry.tb_next.tb_frame.f_code.co_filename.startswith(_HERE):
            entry.tb_next = entry.tb_next.tb_next
        else:
            entry = entry.tb_next
    if isinstance(error, DeviceMismatchError) and not error.torch_message:
        cut(error.__traceback__, _is_way_to_the_check)
    elif isinstance(error, DeviceMismatchError) or hasattr(error, "devlint_operands"):
        cut(error.__traceback__, is_ours)  # an emulation has raised it


def is_ours(entry: TracebackType) -> bool:
    """Whether a frame runs code of devlint."""
    return owner_of(entry.tb_frame.f_code.co_filename) == "devlint"


def _is_way_to_the_check(entry: TracebackType) -> bool:
    code = entry.tb_frame.f_code
    is_call = owner_of(code.co_filename) == "torch" and code.co_name == "_wrapped_call_impl"
    return is_call or is_ours(entry)


def cut(trace: TracebackType | None, is_noise: Callable[[TracebackType], bool]) -> None:
    """End a traceback behind the last entry that isn't noise."""
    last = entry = trace
    while entry is not None:
        if not is_noise(entry):
            last = entry
        entry = entry.tb_next
    if last is not None:
        last.tb_next = None
