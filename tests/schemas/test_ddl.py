"""Spark SQL types from Python's."""

import pytest
from msgspec import Struct

from schemas.ddl import sql_type, struct_type
from schemas.facts import PAYLOADS, AlertFact, Kind, payload_column
from schemas.tables import FACTS


class Inner(Struct):
    left: int
    right: str | None = None


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, "STRING"),
        (int, "BIGINT"),
        (float, "DOUBLE"),
        (bool, "BOOLEAN"),
        (bytes, "BINARY"),
        (Kind, "STRING"),
        (int | None, "BIGINT"),
        (tuple[str, ...] | None, "ARRAY<STRING>"),
        (list[int], "ARRAY<BIGINT>"),
        (dict[str, int], "MAP<STRING,BIGINT>"),
        (tuple[Inner, ...], "ARRAY<STRUCT<`left`:BIGINT,`right`:STRING>>"),
    ],
)
def test_each_annotation_has_its_type(annotation, expected):
    assert sql_type(annotation) == expected


@pytest.mark.parametrize("annotation", [object, int | str, tuple[int, str], set[int]])
def test_what_has_no_type_is_refused(annotation):
    with pytest.raises(TypeError, match="has no Spark SQL type"):
        sql_type(annotation)


def test_every_payload_has_a_column_of_its_own():
    types = {column.name: column.type for column in FACTS.columns}
    assert len({payload_column(kind) for kind in PAYLOADS} & types.keys()) == len(PAYLOADS)
    assert types["alert"] == struct_type(AlertFact)
