"""The laws of the lattice of devices."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from devlint.flow.domain import lattice
from devlint.flow.domain.differences import Difference, difference
from devlint.flow.domain.keys import CUDA_AVAILABLE
from devlint.flow.domain.lattice import (
    CPU,
    CUDA,
    UNKNOWN,
    Device,
    Guarded,
    Known,
    Symbol,
    choose,
    conditions,
    join,
    may_be_accelerator,
)

KEYS = ("a", "b", "c", "d", "e", "f")
META = Known("meta")
PLAIN: tuple[Device, ...] = (
    CPU, CUDA, Known("cuda", 0), Known("cuda", 1), Known("mps"), META,
    Symbol("device", "device"), Symbol("args.device", "args.device"), UNKNOWN,
)  # fmt: skip

plain = st.sampled_from(PLAIN)
keys = st.sampled_from(KEYS)
devices: st.SearchStrategy[Device] = st.recursive(
    plain, lambda inner: st.builds(choose, keys, inner, inner), max_leaves=8
)
"""What branches alone make."""
joined: st.SearchStrategy[Device] = st.recursive(
    devices,
    lambda inner: (
        st.builds(join, inner, inner) | st.builds(lattice.given, inner, keys, st.booleans())
    ),
    max_leaves=6,
)
"""What branches, meeting paths and settled conditions make."""
few: st.SearchStrategy[Device] = st.recursive(
    st.sampled_from((CPU, CUDA, UNKNOWN)),
    lambda inner: st.builds(choose, keys, inner, inner),
    max_leaves=8,
)
"""Devices that agree often: their joins keep something."""
any_device = few | joined | joined.map(lambda device: join(device, CPU))


def below(a: Device, b: Device) -> bool:
    """Whether `b` says no more than `a`: the order that the join gives."""
    return join(a, b) == b


def at(device: Device, settled: tuple[bool, ...]) -> Device:
    """The device where every condition is settled."""
    for key, holds in zip(KEYS, settled, strict=True):
        device = lattice.given(device, key, holds)
    return device


def everywhere(device: Device) -> list[Device]:
    return [at(device, settled) for settled in product((True, False), repeat=len(KEYS))]


def is_canonical(device: Device, above: str = "") -> bool:
    """Keys stand in ascending order, and no node has two equal branches."""
    if not isinstance(device, Guarded):
        return True
    return (
        device.key > above
        and device.yes != device.no
        and is_canonical(device.yes, device.key)
        and is_canonical(device.no, device.key)
    )


# --- join ------------------------------------------------------------------------------------


@given(any_device, any_device)
def test_join_commutes(a: Device, b: Device) -> None:
    assert join(a, b) == join(b, a)


# Joined with each other first these hang on four conditions, joined with cuda first on three: a
# join that gives up a whole diagram of four conditions would depend on the order.
SHRINKS = (
    choose("c", CPU, choose("a", CPU, CUDA)),
    CUDA,
    choose("d", CUDA, choose("b", CPU, UNKNOWN)),
)


@settings(max_examples=400)
@given(any_device, any_device, any_device)
@example(*SHRINKS)
def test_join_is_associative(a: Device, b: Device, c: Device) -> None:
    assert join(join(a, b), c) == join(a, join(b, c)) == join(join(a, c), b)


@given(any_device)
def test_join_is_idempotent(a: Device) -> None:
    assert join(a, a) == a


@settings(max_examples=400)
@given(any_device, any_device, any_device)
@example(*SHRINKS)
def test_join_is_monotone(a: Device, b: Device, c: Device) -> None:
    higher = join(a, b)
    assert below(join(a, c), join(higher, c))


@given(any_device, any_device)
def test_both_are_below_their_join(a: Device, b: Device) -> None:
    assert below(a, join(a, b))
    assert below(b, join(a, b))


@given(any_device, any_device, any_device)
def test_join_is_the_least_above_both(a: Device, b: Device, c: Device) -> None:
    above = join(join(a, b), c)
    assert below(a, above)
    assert below(b, above)
    assert below(join(a, b), above)


@given(any_device)
def test_unknown_is_the_top(a: Device) -> None:
    assert join(a, UNKNOWN) == UNKNOWN
    assert below(a, UNKNOWN)
    assert below(UNKNOWN, a) is (a == UNKNOWN)


@given(plain, plain)
def test_two_plain_devices_join_to_unknown(a: Device, b: Device) -> None:
    assert join(a, b) == (a if a == b else UNKNOWN)


@given(any_device, any_device)
def test_a_join_claims_only_what_both_say(a: Device, b: Device) -> None:
    for one, other, both in zip(everywhere(a), everywhere(b), everywhere(join(a, b)), strict=True):
        assert both in (UNKNOWN, join(one, other))


@given(devices, devices)
def test_a_join_of_few_conditions_forgets_nothing(a: Device, b: Device) -> None:
    assume(len(conditions(a) | conditions(b)) <= 3)
    both = [join(one, other) for one, other in zip(everywhere(a), everywhere(b), strict=True)]
    assert everywhere(join(a, b)) == both


def test_a_choice_joined_with_one_of_its_branches() -> None:
    chosen = choose(CUDA_AVAILABLE, CUDA, CPU)
    assert join(chosen, CPU) == Guarded(CUDA_AVAILABLE, UNKNOWN, CPU)


# --- choose and given ------------------------------------------------------------------------


@given(keys, devices)
def test_a_choice_between_equals_is_none(key: str, a: Device) -> None:
    assert choose(key, a, a) == a


@given(keys, devices, devices, st.booleans())
def test_a_settled_choice_is_the_branch(key: str, a: Device, b: Device, holds: bool) -> None:
    chosen = choose(key, a, b)
    branch = lattice.given(a if holds else b, key, holds)
    assert lattice.given(chosen, key, holds) == (UNKNOWN if chosen == UNKNOWN else branch)


@given(keys, devices)
def test_a_device_is_the_choice_between_its_halves(key: str, a: Device) -> None:
    assert choose(key, lattice.given(a, key, True), lattice.given(a, key, False)) == a


@given(any_device, keys, st.booleans())
def test_a_settled_condition_is_gone(a: Device, key: str, holds: bool) -> None:
    settled = lattice.given(a, key, holds)
    assert key not in conditions(settled)
    assert conditions(settled) <= conditions(a)
    assert lattice.given(settled, key, not holds) == settled


@given(any_device, keys, st.booleans(), keys, st.booleans())
def test_the_order_of_settling_does_not_matter(
    a: Device, key: str, holds: bool, other: str, also: bool
) -> None:
    assume(key != other)
    one = lattice.given(lattice.given(a, key, holds), other, also)
    assert one == lattice.given(lattice.given(a, other, also), key, holds)


@given(any_device, any_device, keys, st.booleans())
def test_what_was_joined_is_below_the_join_where_a_condition_is_settled(
    a: Device, b: Device, key: str, holds: bool
) -> None:
    assert below(lattice.given(a, key, holds), lattice.given(join(a, b), key, holds))


# --- the form --------------------------------------------------------------------------------


@given(any_device, any_device, keys)
def test_the_form_is_canonical(a: Device, b: Device, key: str) -> None:
    for device in (a, join(a, b), choose(key, a, b), lattice.given(a, key, True)):
        assert is_canonical(device), device


@given(any_device, any_device)
def test_equal_functions_of_the_conditions_are_equal(a: Device, b: Device) -> None:
    assert (a == b) is (everywhere(a) == everywhere(b))
    if a == b:
        assert hash(a) == hash(b)


@given(st.permutations(KEYS[:4]))
def test_a_choice_of_too_many_conditions_is_unknown(order: list[str]) -> None:
    device: Device = CPU
    for key in order[:3]:
        device = choose(key, CUDA, device)
    assert conditions(device) == frozenset(order[:3])
    assert choose(order[3], CUDA, device) == UNKNOWN


def test_a_join_keeps_what_three_conditions_settle() -> None:
    left = choose("b", choose("a", CUDA, CPU), CPU)
    right = choose("d", choose("c", CUDA, CPU), CPU)
    found = join(left, right)
    assert conditions(found) == frozenset("abcd")
    assert [found for found in everywhere(found) if found == CUDA] == []  # it takes all four
    assert at(found, (True, False, True, False, True, True)) == CPU
    assert at(found, (True, True, True, False, True, True)) == UNKNOWN


def test_joins_of_many_conditions_stay_small() -> None:
    """Ever more joined choices end at UNKNOWN, and not in ever larger diagrams."""
    found: Device = choose("k00", CUDA, CPU)
    for number in range(1, 40):
        found = join(found, choose(f"k{number:02}", CUDA, CPU))
        assert len(conditions(found)) <= 3
    assert found == UNKNOWN


# --- difference ------------------------------------------------------------------------------


@given(any_device, any_device)
def test_a_difference_is_symmetric(a: Device, b: Device) -> None:
    assert difference(a, b) == difference(b, a)


@given(any_device)
def test_nothing_differs_from_itself_or_from_the_unknown(a: Device) -> None:
    assert difference(a, a) is None
    assert difference(a, UNKNOWN) is None


@given(any_device, any_device)
def test_a_difference_holds_under_its_conditions(a: Device, b: Device) -> None:
    found = difference(a, b)
    pairs = list(zip(everywhere(a), everywhere(b), strict=True))
    if found is None:
        told = (difference(one, other) for one, other in pairs)
        assert not any(each is not None and each.certain for each in told)
        return
    for key, holds in found.when:
        a, b = lattice.given(a, key, holds), lattice.given(b, key, holds)
    assert difference(a, b) == Difference(found.certain)


@given(any_device, any_device, any_device)
def test_less_knowledge_finds_no_more_differences(a: Device, b: Device, c: Device) -> None:
    found = difference(join(a, b), c)
    if found is not None and found.certain:
        assert difference(a, c) is not None
        assert difference(b, c) is not None


CERTAIN, POSSIBLE = Difference(certain=True), Difference(certain=False)
SYMBOL = Symbol("device", "device")
DIFFERENCES: list[tuple[Device, Device, Difference | None]] = [
    (CPU, CUDA, CERTAIN),
    (CPU, Known("cuda", 0), CERTAIN),
    (CUDA, Known("mps"), CERTAIN),
    (Known("cuda", 0), Known("cuda", 1), CERTAIN),
    (CUDA, Known("cuda", 1), None),  # `cuda` may be cuda:1
    (CPU, Known("cpu", 0), None),
    (META, CPU, None),
    (META, CUDA, None),
    (META, SYMBOL, None),
    (CPU, SYMBOL, POSSIBLE),
    (CUDA, SYMBOL, None),
    (SYMBOL, Symbol("args.device", "args.device"), None),
    (UNKNOWN, UNKNOWN, None),
    (UNKNOWN, CPU, None),
    (choose("a", CUDA, CPU), CPU, Difference(True, (("a", True),))),
    (choose("a", CPU, CUDA), CPU, Difference(True, (("a", False),))),
    (choose("a", CUDA, CPU), choose("a", CUDA, CPU), None),
    (choose("a", CUDA, CPU), choose("a", CPU, CUDA), Difference(True, (("a", True),))),
    (choose("a", CUDA, CPU), choose("b", CUDA, CPU), Difference(True, (("a", True), ("b", False)))),
    (choose("a", UNKNOWN, CPU), CPU, None),
    (choose("a", SYMBOL, CPU), CPU, Difference(False, (("a", True),))),
    (choose("a", CUDA, CPU), SYMBOL, None),  # the same choice may have made the other
]


@pytest.mark.parametrize(("a", "b", "expected"), DIFFERENCES)
def test_how_two_devices_differ(a: Device, b: Device, expected: Difference | None) -> None:
    assert difference(a, b) == expected
    assert difference(b, a) == expected


# --- accelerators and words ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        (CPU, False),
        (META, False),
        (UNKNOWN, False),
        (CUDA, True),
        (Known("mps"), True),
        (SYMBOL, True),
        (choose("a", CPU, META), False),
        (choose("a", UNKNOWN, CPU), False),
        (choose("a", CPU, choose("b", CPU, CUDA)), True),
    ],
)
def test_what_may_be_an_accelerator(device: Device, expected: bool) -> None:
    assert may_be_accelerator(device) is expected


@given(any_device)
def test_one_accelerator_among_the_possibilities_is_enough(a: Device) -> None:
    assert may_be_accelerator(a) is any(may_be_accelerator(device) for device in everywhere(a))


@pytest.mark.parametrize(
    ("device", "words"),
    [
        (Known("cuda", 1), "cuda:1"),
        (SYMBOL, "`device`"),
        (Symbol("self", "the device of the module", described=True), "the device of the module"),
        (choose(CUDA_AVAILABLE, CUDA, CPU), "cuda (or cpu where CUDA is absent)"),
        (choose("args.gpu", CUDA, CPU), "cuda or cpu, depending on `args.gpu`"),
        (UNKNOWN, "an unknown device"),
    ],
)
def test_how_a_device_is_called(device: Device, words: str) -> None:
    assert str(device) == words
