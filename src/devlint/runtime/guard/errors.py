"""What a guard raises and warns of."""

from __future__ import annotations

from devlint.runtime.explain import Explanation


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
