"""The words by which a program chooses its device."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version

_ACCELERATOR = Version("2.7")
"""`torch.accelerator.current_accelerator` takes `check_available` since then."""
_MPS = Version("1.12")
"""`torch.backends.mps` is there since then."""
_AMP = Version("2.3")
"""`torch.amp.GradScaler` is there since then."""
_AUTOCAST = Version("1.10")
"""`torch.autocast` is there since then."""
_DEFAULT = Version("2.0")
"""`torch.set_default_device` is there since then."""
_ASKED = Version("2.3")
"""`torch.get_default_device` is there since then."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the oldest release of torch allows that a project takes; None where that isn't known."""

    oldest: Version | None = None

    @property
    def has_accelerator(self) -> bool:
        """Whether torch itself says which accelerator there is."""
        return self.oldest is not None and self.oldest >= _ACCELERATOR

    @property
    def has_scaler(self) -> bool:
        """Whether there is a gradient scaler for any type of device."""
        return self.oldest is None or self.oldest >= _AMP

    @property
    def has_autocast(self) -> bool:
        """Whether there is mixed precision for any type of device."""
        return self.oldest is None or self.oldest >= _AUTOCAST

    @property
    def has_default_device(self) -> bool:
        """Whether a default device can be set."""
        return self.oldest is None or self.oldest >= _DEFAULT

    @property
    def default_device(self) -> str:
        """An expression for the default device."""
        asked = self.oldest is not None and self.oldest >= _ASKED
        return "torch.get_default_device()" if asked else "torch.empty(0).device"

    @property
    def device(self) -> str:
        """An expression for a `torch.device`."""
        if self.has_accelerator:
            return f'{_CURRENT} or torch.device("cpu")'
        return f"torch.device(\n    {self._spelled}\n)"

    @property
    def string(self) -> str:
        """An expression for its name, as a string."""
        return f'str({_CURRENT} or "cpu")' if self.has_accelerator else self._spelled

    @property
    def available(self) -> str:
        """An expression for whether it is an accelerator."""
        if self.has_accelerator:
            return "torch.accelerator.is_available()"
        return f"({_CUDA} or {self._mps})"

    @property
    def _mps(self) -> str:
        there = self.oldest is None or self.oldest >= _MPS
        return _MPS_THERE if there else f'(hasattr(torch.backends, "mps") and {_MPS_THERE})'

    @property
    def _spelled(self) -> str:
        return f'"cuda" if {_CUDA} else "mps" if {self._mps} else "cpu"'

    def statement(self, name: str) -> str:
        """A statement that chooses it."""
        return f"{name} = {self.device}\n"


_CURRENT = "torch.accelerator.current_accelerator(check_available=True)"
_CUDA = "torch.cuda.is_available()"
_MPS_THERE = "torch.backends.mps.is_available()"
