"""How values, objects and states join."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devlint.flow.domain.lattice import CPU, CUDA, UNKNOWN, Device, Known, Symbol, choose, join
from devlint.flow.domain.paths import Path
from devlint.flow.domain.state import Heap, Object, State
from devlint.flow.domain.state_joins import join_objects, join_states
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.value_joins import join_all, join_values
from devlint.flow.domain.values import NONE, NOTHING, Kind, Origin, Value

KEY = "args.cuda"
DEVICE = Symbol("device", "device")
HERE = Value(Kind.TENSOR, CPU, origin=Origin.DEFAULT, scalar=False)
THERE = Value(Kind.TENSOR, CUDA, origin=Origin.MOVED)

devices: st.SearchStrategy[Device] = st.sampled_from(
    [CPU, CUDA, Known("cuda", 1), DEVICE, UNKNOWN, choose("a", CUDA, CPU)]
)
datas = st.sampled_from([None, 1, "text", "ref", Path("x"), Path("x", given=True)])
values = st.builds(
    Value,
    st.sampled_from(Kind),
    devices,
    datas,
    st.sampled_from(Origin),
    st.sampled_from([None, True, False]),
    st.booleans(),
    st.sampled_from([None, *Trait]),
) | st.sampled_from([NONE, NOTHING, HERE, THERE])
objects = st.builds(
    Object,
    devices,
    st.none() | st.lists(values, max_size=3).map(tuple),
    st.dictionaries(st.sampled_from("abc"), values, max_size=3),
    values,
    st.sampled_from([None, "torch.nn.Linear"]),
    st.booleans(),
    st.booleans(),
)
keys = st.sampled_from([None, KEY, "mask is None"])

_MOVED = (Kind.TENSOR, Kind.BATCH, Kind.PLACED)
_NAMED = (Kind.DEVICE, Kind.STRING)


# --- values ----------------------------------------------------------------------------------


@given(values, keys)
def test_a_value_joined_with_itself_is_itself(a: Value, key: str | None) -> None:
    assert join_values(a, a, key) == a


@given(values, values)
def test_the_join_of_values_commutes_in_kind_and_place(a: Value, b: Value) -> None:
    one, other = join_values(a, b), join_values(b, a)
    assert (one.kind, one.device, one.data) == (other.kind, other.device, other.data)


@given(values, values)
def test_a_join_proves_no_kind_that_neither_had(a: Value, b: Value) -> None:
    kinds = {a.kind, b.kind}
    found = join_values(a, b).kind
    assert (
        found in (*kinds, Kind.UNKNOWN)
        or (found is Kind.BATCH and kinds <= set(_MOVED))
        or (found is Kind.DEVICE and kinds <= set(_NAMED))
    )


@given(values, values)
def test_a_join_places_nothing_where_one_of_them_is_not(a: Value, b: Value) -> None:
    found = join_values(a, b)
    if Kind.NONE not in (a.kind, b.kind) and found.kind is not Kind.UNKNOWN:
        assert found.device == join(a.device, b.device)


@given(values, values, keys)
def test_what_one_path_does_not_prove_the_join_does_not(
    a: Value, b: Value, key: str | None
) -> None:
    if Kind.UNKNOWN in (a.kind, b.kind) and key != "mask is None":
        found = join_values(a, b, key)
        assert found.kind is Kind.UNKNOWN or (found in (a, b) and Kind.NONE in (a.kind, b.kind))


PLACED = Value(Kind.PLACED, CPU)
BATCH = Value(Kind.BATCH, CPU)
NAME = Value(Kind.STRING, CUDA, "cuda")
PLACE = Value(Kind.DEVICE, CUDA)
JOINS = [
    (HERE, HERE, HERE),
    (HERE, THERE, Value(Kind.TENSOR, UNKNOWN, origin=Origin.MOVED)),
    (HERE, NONE, HERE),
    (HERE, NOTHING, NOTHING),
    (NONE, NOTHING, NOTHING),
    (HERE, PLACED, Value(Kind.PLACED, CPU, origin=Origin.MOVED)),
    (HERE, BATCH, Value(Kind.BATCH, CPU, origin=Origin.MOVED)),
    (NAME, PLACE, Value(Kind.DEVICE, CUDA, trait=None)),
    (HERE, NAME, NOTHING),
    (HERE, Value(Kind.NUMBER, data=1), NOTHING),
    (Value(Kind.NUMBER, data=1), Value(Kind.NUMBER, data=2), Value(Kind.NUMBER)),
    (Value(Kind.UNKNOWN, data=Path("x")), Value(Kind.UNKNOWN, data=Path("y")), NOTHING),
]


@pytest.mark.parametrize(("a", "b", "expected"), JOINS)
def test_how_two_values_join(a: Value, b: Value, expected: Value) -> None:
    for found in (join_values(a, b), join_values(b, a)):
        assert (found.kind, found.device, found.data, found.origin) == (
            expected.kind, expected.device, expected.data, expected.origin,
        )  # fmt: skip


def test_what_may_have_no_dimensions_may_meet_any_device() -> None:
    for scalar in (None, True):
        free = replace(HERE, scalar=scalar)
        assert join_values(THERE, free, KEY).device == choose(KEY, CUDA, UNKNOWN)
        assert join_values(free, THERE, KEY).device == choose(KEY, UNKNOWN, CUDA)


def test_under_a_condition_values_stay_apart() -> None:
    assert join_values(THERE, HERE, KEY).device == choose(KEY, CUDA, CPU)
    assert join_values(THERE, HERE).device == UNKNOWN


def test_an_identity_that_both_share_survives() -> None:
    path = Value(Kind.UNKNOWN, data=Path("x", given=True))
    assert join_values(path, path.but(trait=Trait.SHAPE)).data == Path("x", given=True)


def test_a_default_stands_in_for_an_argument_left_out() -> None:
    argument = Value(Kind.UNKNOWN, data=Path("mask", given=True))
    found = join_values(HERE, argument, "mask is None")
    place = Symbol("mask.device", "mask.device")
    assert found.kind is Kind.TENSOR
    assert found.device == choose("mask is None", CPU, place)


def test_scalars_are_proved_on_both_paths() -> None:
    scalar, other = HERE.but(scalar=True), HERE.but(scalar=False)
    assert join_values(scalar, scalar.but(device=CUDA)).scalar is True
    assert join_values(scalar, other).scalar is None
    assert join_values(scalar, HERE).scalar is None


def test_a_gradient_on_one_path_is_one() -> None:
    assert join_values(HERE.but(grad=True), HERE).grad


@given(st.lists(values, max_size=4))
def test_the_join_of_many_takes_them_one_by_one(many: list[Value]) -> None:
    found = join_all(many)
    if not many:
        assert found is NOTHING
    elif len(set(map(repr, many))) == 1:
        assert found == many[0]
    elif Kind.UNKNOWN in [value.kind for value in many] and Kind.NONE not in [
        value.kind for value in many
    ]:
        assert found.kind is Kind.UNKNOWN


# --- objects ---------------------------------------------------------------------------------


@given(objects, keys)
def test_an_object_joined_with_itself_is_itself(a: Object, key: str | None) -> None:
    assert join_objects(a, a, key) == a


@given(objects, objects)
def test_the_join_of_objects_keeps_what_both_know(a: Object, b: Object) -> None:
    found = join_objects(a, b)
    assert found.device == join(a.device, b.device)
    assert set(found.entries) == {*a.entries, *b.entries}
    assert found.managed is (a.managed or b.managed)
    if found.items is not None and a != b:
        assert a.items is not None
        assert b.items is not None
        assert len(found.items) == len(a.items) == len(b.items)


def test_sequences_of_one_length_join_one_by_one() -> None:
    found = join_objects(Object(items=(HERE, THERE)), Object(items=(THERE, THERE)))
    assert found.items is not None
    assert [each.device for each in found.items] == [UNKNOWN, CUDA]


def test_sequences_of_two_lengths_join_their_elements() -> None:
    found = join_objects(Object(items=(HERE,)), Object(items=(HERE, HERE)))
    assert found.items is None
    assert found.elements().device == CPU
    mixed = join_objects(Object(items=(HERE,)), Object(items=(HERE, THERE)))
    assert mixed.elements().device == UNKNOWN


def test_an_empty_list_says_nothing_against_a_full_one() -> None:
    for a, b in (
        (Object(items=()), Object(items=(THERE,))),
        (Object(items=()), Object(element=THERE)),
    ):
        assert join_objects(a, b).elements().device == CUDA
        assert join_objects(b, a).elements().device == CUDA


def test_entries_join_by_name() -> None:
    one = Object(items=(), entries={"x": HERE, "y": HERE})
    found = join_objects(one, Object(items=(), entries={"x": THERE, "z": THERE}), KEY)
    assert found.entries["x"].device == choose(KEY, CPU, CUDA)
    assert found.entries["y"] == HERE
    assert found.entries["z"] == THERE


def test_an_entry_isnt_known_where_anything_may_stand_under_any_key() -> None:
    known, unknown = Object(items=(), entries={"x": HERE}), Object()
    assert join_objects(known, unknown).entries["x"] is NOTHING
    assert join_objects(unknown, known).entries["x"] is NOTHING


def test_a_module_moved_under_a_condition_is_guarded() -> None:
    still, moved = Object(CPU), Object(CUDA)
    assert join_objects(moved, still, KEY).device == choose(KEY, CUDA, CPU)
    assert join_objects(moved, still, KEY).guarded
    assert not join_objects(moved, still).guarded


def test_with_entry_leaves_the_object_as_it_was() -> None:
    before = Object(entries={"x": HERE})
    after = before.with_entry("x", THERE)
    assert before.entries == {"x": HERE}
    assert after.entries == {"x": THERE}


# --- states ----------------------------------------------------------------------------------


def state(**env: Value) -> State:
    return State(dict(env))


def test_a_fork_changes_alone() -> None:
    before = State({"x": HERE}, {"r": Object(CPU)}, {KEY: True}, CPU, {"args.device": HERE})
    fork = before.fork()
    assert fork.same_as(before)
    fork.bind("x", THERE)
    fork.heap["r"] = Object(CUDA)
    fork.known[KEY] = False
    fork.paths["args.device"] = THERE
    fork.default = CUDA
    assert before.env == {"x": HERE}
    assert before.heap == {"r": Object(CPU)}
    assert dict(before.known.literals()) == {KEY: True}
    assert before.paths == {"args.device": HERE}
    assert before.default == CPU
    assert not fork.same_as(before)


def test_names_join() -> None:
    found = join_states(state(x=THERE, y=HERE, z=NOTHING), state(x=HERE, y=HERE, z=HERE), KEY)
    assert found.env["x"].device == choose(KEY, CUDA, CPU)
    assert found.env["y"] == HERE
    assert found.env["z"].kind is Kind.UNKNOWN


def test_a_name_that_one_path_binds_is_what_that_path_binds() -> None:
    """On the other path it would be a NameError."""
    assert join_states(state(x=THERE), state()).env["x"] == THERE
    assert join_states(state(), state(x=THERE)).env["x"] == THERE


def test_a_path_that_ended_leaves_nothing() -> None:
    ended = state(x=THERE)
    ended.alive = False
    going = state(x=HERE)
    assert join_states(ended, going) is going
    assert join_states(going, ended) is going


def test_what_is_settled_on_both_paths_stays_settled() -> None:
    one, other = (
        State(known={"a": True, "b": True, "c": True}),
        State(known={"a": True, "b": False}),
    )
    assert dict(join_states(one, other).known.literals()) == {"a": True}


def test_an_entry_that_one_path_may_lack_stays_unsure_where_its_objects_join() -> None:
    one, other = State(), State()
    for state, ref, unsure in ((one, "one", ("p",)), (other, "other", ())):
        entries = {"p": Value(Kind.LIST, data=frozenset({ref}))}
        state.heap["dict"] = Object(entries=entries, unsure=frozenset(unsure))
        state.heap[frozenset({ref})] = Object(items=())
    assert join_states(one, other).heap["dict"].unsure == {"p"}


def test_paths_join_where_both_wrote_them() -> None:
    one = State(paths={"args.device": HERE, "cfg.device": HERE})
    other = State(paths={"args.device": THERE})
    found = join_states(one, other)
    assert found.paths.keys() == {"args.device"}
    assert found.paths["args.device"].device == UNKNOWN


def test_binding_a_name_forgets_what_was_written_below_it() -> None:
    found = State(paths={"args.device": HERE, 'args["x"]': HERE, "arguments.x": HERE})
    found.bind("args", NOTHING)
    assert found.paths == {"arguments.x": HERE}


def test_two_objects_under_one_name_become_a_third() -> None:
    here = State({"m": Value(Kind.MODULE, data="one")}, {"one": Object(CPU)})
    there = State({"m": Value(Kind.MODULE, data="two")}, {"two": Object(CUDA)})
    found = join_states(there, here, KEY)
    ref = found.env["m"].data
    assert ref == frozenset(("one", "two"))
    assert found.heap[ref].device == choose(KEY, CUDA, CPU)
    assert found.heap["one"] == Object(choose(KEY, UNKNOWN, CPU))
    assert found.heap["two"] == Object(choose(KEY, CUDA, UNKNOWN))


def test_joining_objects_again_needs_no_fourth() -> None:
    here = State({"m": Value(Kind.MODULE, data="one")}, {"one": Object(CPU)})
    there = State({"m": Value(Kind.MODULE, data="two")}, {"two": Object(CUDA)})
    once = join_states(there, here)
    assert join_states(once, here).env["m"].data == once.env["m"].data
    assert join_states(once, there).env["m"].data == once.env["m"].data


def test_objects_of_two_kinds_make_no_third() -> None:
    one = State({"m": Value(Kind.MODULE, data="one")}, {"one": Object(CPU)})
    two = State({"m": Value(Kind.LIST, data="two")}, {"two": Object(items=())})
    found = join_states(one, two)
    assert found.env["m"].kind is Kind.UNKNOWN
    assert found.heap.keys() == {"one", "two"}


def test_the_default_device_joins() -> None:
    assert join_states(State(default=CUDA), State(default=CUDA)).default == CUDA
    assert join_states(State(default=CUDA), State(default=DEVICE)).default == UNKNOWN


def test_a_device_is_simplified_by_what_is_settled() -> None:
    device = choose("a", choose("b", CUDA, CPU), DEVICE)
    expected = {
        (True, True): CUDA,
        (True, False): CPU,
        (False, True): DEVICE,
        (False, False): DEVICE,
    }
    for a, b in product((True, False), repeat=2):
        assert State(known={"a": a, "b": b}).simplify(device) == expected[a, b]
    assert State(known={"b": True}).simplify(device) == choose("a", CUDA, DEVICE)


def test_what_was_bound_is_walked_in_the_order_of_that() -> None:
    """An identity has another hash in each run: what hangs on the order would be told otherwise."""
    refs = [object() for _ in range(64)]
    heap = Heap({})
    for ref in refs:
        heap[ref] = Object()
    assert list(heap.written) == refs
    assert list(heap.fork().written) == refs
