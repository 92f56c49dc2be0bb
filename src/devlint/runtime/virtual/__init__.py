"""The emulated accelerator: a program has devices that the machine lacks.

>>> with devlint.emulate("cuda", count=2):
...     model = nn.Linear(4, 2).cuda()
...     model(torch.randn(8, 4))        # raises what it would raise on a GPU

Every tensor stays an ordinary CPU tensor and is computed for real. Only its device is
emulated (`tags`), and every rule of PyTorch about devices is enforced (`modes`, `checks`).
"""

from devlint.runtime.virtual.emulation import Emulation, emulate

__all__ = ["Emulation", "emulate"]
