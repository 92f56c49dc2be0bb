"""Tests that were written for the CPU, run on an emulated accelerator without a change.

What the tests make is born on the device, and what they hold is moved where it has to be; the
project's own code is left as it is. So a device error is one that a user meets who has moved the
model and its inputs.
"""

from devlint.runtime.ported.port import Port

__all__ = ["Port"]
