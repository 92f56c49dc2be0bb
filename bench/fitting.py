"""Which codes name a bug of a class: the tables that recall is judged by."""

from __future__ import annotations

MISPLACED = ("DEV201", "DEV202", "DEV203")

KINDS = {
    "autocast-hardcoded": ("DEV107",),
    "batch-not-moved": (*MISPLACED, "DEV109"),
    "container-not-moved": ("DEV301", "DEV201", "DEV110"),
    "creation-without-device": (*MISPLACED, "DEV204", "DEV401"),
    "cuda-on-container": ("DEV301",),
    "data-parallel": ("DEV404",),
    "device-compare": ("DEV304", "DEV305"),
    "discarded-to": ("DEV302",),
    "generator-device": ("DEV207",),
    "hardcoded-cuda": ("DEV101", "DEV102", "DEV103", "DEV104", "DEV105", "DEV108", "DEV109"),
    "hardcoded-index": ("DEV101", "DEV103", "DEV104", "DEV110"),
    "hf-inputs-not-moved": MISPLACED,
    "index-device": ("DEV202", "DEV203", "DEV204"),
    "load-without-map-location": ("DEV106",),
    "metric-not-moved": ("DEV202", "DEV208", "DEV402"),
    "module-list": ("DEV402",),
    "nonblocking-race": ("DEV503",),
    "numpy-without-cpu": ("DEV205", "DEV206"),
    "optimizer-before-move": ("DEV403",),
    "pin-memory": ("DEV502",),
    "unregistered-buffer": ("DEV202", "DEV203", "DEV401", "DEV407"),
    "worker-cuda": ("DEV501",),
}
"""The codes that name a bug of a class."""

OTHERS = {
    "arg-device-mix": (*MISPLACED, "DEV204", "DEV401"),
    "bad-cuda-kwarg": ("DEV306",),
    "collective-device": ("DEV210",),
    "cuda-context-on-cpu": ("DEV108", "DEV306"),
    "current-device-kernel": ("DEV108",),
    "default-arg-device": ("DEV103", "DEV104", "DEV110", "DEV116", "DEV304"),
    "device-object-misuse": ("DEV306", "DEV309"),
    "device-type-string": ("DEV107", "DEV118", "DEV304", "DEV306"),
    "dispatch-moved": ("DEV308",),
    "get-device-on-cpu": ("DEV111",),
    "global-device": (*MISPLACED, "DEV103", "DEV110"),
    "missing-device-arg": (*MISPLACED, "DEV106", "DEV110", "DEV208"),
    "module-not-moved": (*MISPLACED, "DEV109", "DEV208", "DEV401", "DEV402"),
    "restored-tensor": ("DEV106", "DEV202"),
    "stale-device-attr": ("DEV405",),
    "type-as-device": ("DEV105", "DEV202", "DEV203"),
    "undefined-device": ("DEV110", "DEV303", "DEV304", "DEV310"),
    "wrong-device-choice": (
        "DEV103",
        "DEV106",
        "DEV110",
        "DEV113",
        "DEV114",
        "DEV115",
        "DEV116",
        "DEV117",
        "DEV118",
    ),
    "wrong-target-method": ("DEV101", "DEV110"),
}
"""The codes that name a bug of the class "other", by what it is."""


def fitting(kind: str, subkind: str) -> tuple[str, ...] | None:
    """The codes that name such a bug; None where any code does."""
    return KINDS.get(kind) or OTHERS.get(subkind)
