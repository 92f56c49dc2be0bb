"""What runs beside a program: the only package of devlint that imports torch.

`virtual` is the emulated accelerator: on a machine without one, code believes it has CUDA, MPS
or XPU devices and fails exactly where it would fail there.
"""
