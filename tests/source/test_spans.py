"""Offsets, rows and columns; edits of a string."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devlint.model.findings import Edit, Span
from devlint.model.spans import LineIndex, apply_edits, utf8_length, utf16_length

TEXTS = st.text(alphabet=st.sampled_from("ab \t\n\r\x0b\x0c\x1c\x85\u2028é漢😀\ufeff"), max_size=40)


@given(TEXTS, st.data())
def test_an_offset_survives_the_way_to_a_place_and_back(text: str, data: st.DataObject) -> None:
    index = LineIndex(text)
    offset = data.draw(st.integers(0, len(text)))
    row, column = index.place(offset)
    inside_break = text[offset - 1 : offset + 1] == "\r\n"
    assert index.offset(row, column) == (offset - 1 if inside_break else offset)


@given(TEXTS)
def test_rows_are_what_stands_between_line_breaks(text: str) -> None:
    index = LineIndex(text)
    rows = re.split(r"\r\n|\r|\n", text)
    assert [index.row_text(row) for row in range(1, index.rows + 1)] == rows


@given(TEXTS, st.data())
def test_columns_in_units_agree_with_the_encodings(text: str, data: st.DataObject) -> None:
    index = LineIndex(text)
    row = data.draw(st.integers(1, index.rows))
    before = data.draw(st.integers(0, len(index.row_text(row))))
    head = index.row_text(row)[:before]
    wide, narrow = index.utf16_column(row, before + 1), index.utf8_column(row, before + 1)
    assert wide == len(head.encode("utf-16-le")) // 2 + 1
    assert narrow == len(head.encode()) + 1
    assert index.from_utf16_column(row, wide) == before + 1
    assert index.from_utf8_column(row, narrow) == before + 1


def test_a_column_inside_a_character_is_that_character() -> None:
    index = LineIndex("a😀b")
    assert index.from_utf16_column(1, 3) == 2  # the second half of the surrogate pair
    assert index.from_utf8_column(1, 4) == 2


def test_what_lies_outside_is_the_nearest_end() -> None:
    index = LineIndex("ab\r\ncd")
    assert index.place(-5) == (1, 1)
    assert index.place(99) == (2, 3)
    assert index.offset(1, 99) == 2
    assert index.offset(9, 1) == 4
    assert index.from_utf16_column(2, 99) == 3


def test_lone_surrogates_have_a_length() -> None:
    assert utf16_length("\ud800") == 1
    assert utf8_length("\ud800") == 3


def edit(start: int, end: int, content: str) -> Edit:
    return Edit(Span(start, end, 1, start + 1, 1, end + 1), content)


@given(
    st.text(max_size=30), st.lists(st.tuples(st.integers(0, 30), st.text(max_size=3)), max_size=6)
)
def test_edits_of_single_characters_are_a_replacement_each(
    text: str, wanted: list[tuple[int, str]]
) -> None:
    replaced = {offset: content for offset, content in wanted if offset < len(text)}
    edits = [edit(offset, offset + 1, content) for offset, content in replaced.items()]
    expected = "".join(replaced.get(offset, old) for offset, old in enumerate(text))
    assert apply_edits(text, edits) == expected


def test_edits_may_touch_and_insertions_keep_their_order() -> None:
    edits = [edit(2, 3, "C"), edit(1, 2, "B"), edit(3, 3, "1"), edit(3, 3, "2")]
    assert apply_edits("abcd", edits) == "aBC12d"


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([edit(0, 2, ""), edit(1, 3, "")], "overlap"),
        ([edit(0, 3, ""), edit(1, 1, "x")], "overlap"),
        ([edit(0, 9, "")], "outside"),
        ([edit(2, 1, "")], "outside"),
    ],
)
def test_edits_that_cannot_be_applied_are_refused(edits: list[Edit], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        apply_edits("abcd", edits)
