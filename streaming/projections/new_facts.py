"""The facts that the projections have not read, in pieces that fit into memory, each with the position after it."""

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

import pyarrow as pa
from msgspec.structs import replace

from schemas.facts import PAYLOADS, payload_column
from streaming.projections.columns import FACTS_SCHEMA
from streaming.projections.progress import Position
from streaming.tables.fact_rows import KEY_COLUMNS
from streaming.tables.facts_log import FactsLog

ROWS_A_PIECE = 25_000
ROWS_A_BATCH = 50_000
SCHEMA = pa.schema([FACTS_SCHEMA.field(name) for name in (*KEY_COLUMNS, *map(payload_column, PAYLOADS))])


class NewFacts(NamedTuple):
    """Facts, and ``upto``: the position after them."""

    rows: pa.Table
    upto: Position


class FactsReader:
    """A reader of facts from a position on. After an error it must not be used again."""

    def __init__(self, log: FactsLog, begin: Position) -> None:
        self._log = log
        self._upto = begin
        self._pieces = _pieces(log, begin)

    def next_batch(self) -> NewFacts | None:
        """The next facts, up to a limit; None if there is no commit. A commit may have no facts."""
        read: list[pa.Table] = []
        begin = self._upto
        while sum(rows.num_rows for rows in read) < ROWS_A_BATCH:
            piece = next(self._pieces, None)
            if piece is None:
                self._pieces = _pieces(self._log, self._upto)
                break
            read.append(piece.rows)
            self._upto = piece.upto
        return None if self._upto == begin else NewFacts(pa.concat_tables(read), self._upto)


def facts_between(log: FactsLog, begin: Position, end: Position) -> pa.Table:
    """The facts of a batch that was begun earlier."""
    read = [SCHEMA.empty_table()]
    for rows, upto in _pieces(log, begin):
        is_over = (upto.version, upto.initial) == (end.version, end.initial) and upto.rows >= end.rows
        read.append(rows.slice(0, rows.num_rows - (upto.rows - end.rows)) if is_over else rows)
        if is_over:
            break
    return pa.concat_tables(read)


def _pieces(log: FactsLog, begin: Position) -> Iterator[NewFacts]:
    while (files := _files(log, begin)) is not None:
        yield from _rows(log, files, begin)
        begin = Position(table=begin.table, version=begin.version + 1)
        yield NewFacts(SCHEMA.empty_table(), begin)


def _files(log: FactsLog, at: Position) -> list[str] | None:
    """The files of a commit, always in the same order; None if there is no such commit."""
    if not at.initial:
        return log.new_files(at.version)
    return sorted(unquote(path) for path in pa.table(log.table(at.version).get_add_actions())["path"].to_pylist())


def _rows(log: FactsLog, files: list[str], begin: Position) -> Iterator[NewFacts]:
    """The facts of these files without the first ``begin.rows`` rows."""
    read = 0
    for file in files:
        for batch in log.batches(file, SCHEMA.names, ROWS_A_PIECE):
            known = max(begin.rows - read, 0)
            read += batch.num_rows
            if known < batch.num_rows:
                yield NewFacts(_conformed(batch.slice(known)), replace(begin, rows=read))


def _conformed(batch: pa.RecordBatch) -> pa.Table:
    """The batch with today's columns and types: files of an older evenkeel lack some, also within structs."""
    present = set(batch.schema.names)
    columns = [
        _typed(batch.column(field.name), field.type) if field.name in present else pa.nulls(len(batch), field.type)
        for field in SCHEMA
    ]
    return pa.table(columns, schema=SCHEMA)


def _typed(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    if values.type == wanted:
        return values
    if pa.types.is_nested(wanted) and not pa.types.is_map(wanted):
        return pa.array(values.to_pylist(), wanted)  # a missing field becomes null
    return values.cast(wanted)
