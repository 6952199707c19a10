"""Rows and vectors as tables for others' tools, in Parquet.

The one home of polars. No number is computed here: integers stay integers, decimal
text stays text, instants are whole microseconds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from ledger.projections.flat_rows import Cell, FlatRow, columns_of

_INSTANT = pl.Datetime("us", "UTC")
_VECTOR = pl.List(pl.Struct({"answer": pl.String, "ppm": pl.Int64}))
_TEXTS = pl.List(pl.String)

# One row a vector or reveal, by position in the log; tags follow as `tag:<name>`.
FORECAST_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "seq": pl.Int64,
    "event_id": pl.String,
    "suite": pl.String,
    "template": pl.String,
    "id": pl.String,
    "horizon": pl.String,
    "target": pl.String,
    "cluster": pl.String,
    "slot": pl.String,
    "question_hash": pl.String,
    "opened_at": _INSTANT,
    "cutoff_at": _INSTANT,
    "resolve_by": _INSTANT,
    "forecaster": pl.String,
    "kind": pl.String,
    "parent": pl.Int64,
    "created_at": _INSTANT,
    "received_at": _INSTANT,
    "lead_seconds": pl.Int64,
    "eligible": pl.Boolean,
    "reason": pl.String,
    "is_hidden": pl.Boolean,
    "opened_seq": pl.Int64,
    "probabilities": _VECTOR,
    "quantities": pl.String,
    "cost": pl.String,
    "adaptation_budget": pl.String,
    "reference_class": pl.String,
    "model_version": pl.String,
    "code_revision": pl.String,
    "evidence_tiers": _TEXTS,
    "reason_codes": _TEXTS,
    "status": pl.String,
    "outcome": pl.String,
    "brier_sum_e12": pl.Int64,
    "picobits": pl.Int64,
    "picobits_clipped": pl.Int64,
    "piconats_clipped": pl.Int64,
}
TAG = "tag:"

Frame = pl.DataFrame


def rows_frame(rows: Sequence[FlatRow]) -> pl.DataFrame:
    """Return rows as a table: counts are integers, every other number decimal text."""
    columns = {name: [row.get(name) for row in rows] for name in columns_of(rows)}
    return pl.DataFrame(
        columns, schema={name: _type(cells) for name, cells in columns.items()}
    )


def _type(cells: Sequence[Cell]) -> type[pl.DataType]:
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {int}:
        return pl.Int64
    if kinds == {bool}:
        return pl.Boolean
    assert kinds <= {str}, f"a column mixes {kinds}"
    return pl.String


def forecasts_frame(
    batches: Iterable[Mapping[str, Sequence[Any]]], tags: Sequence[str]
) -> pl.DataFrame:
    """Return vectors as a table; `batches` have a list for each column.

    Instants are whole microseconds; `tags` are the names of those that any has.
    """
    schema = {**FORECAST_COLUMNS, **{f"{TAG}{name}": pl.String for name in tags}}
    frames = [
        pl.DataFrame(
            [_series(name, batch[name], kind) for name, kind in schema.items()]
        )
        for batch in batches
    ]
    return pl.concat([pl.DataFrame(schema=schema), *frames], rechunk=True)


def _series(
    name: str, cells: Sequence[Any], kind: pl.DataType | type[pl.DataType]
) -> pl.Series:
    if not isinstance(kind, pl.List):
        return pl.Series(name, cells, dtype=kind)
    # All items in one column first, then by the row that they are of: given lists,
    # the library makes a column of each, which takes most of an export's time.
    rows = [row for row, items in enumerate(cells) for _ in items or ()]
    items = pl.Series(
        "item", [item for some in cells for item in some or ()], kind.inner
    )
    made = pl.DataFrame([pl.Series("row", rows, pl.Int64), items])
    lists = made.group_by("row", maintain_order=True).agg("item")
    whole = pl.DataFrame(
        {"row": range(len(cells)), "is_null": [items is None for items in cells]},
        schema={"row": pl.Int64, "is_null": pl.Boolean},
    )
    joined = whole.join(lists, on="row", how="left", maintain_order="left")
    none = pl.Series([[]], dtype=kind)
    return joined.select(
        pl.when("is_null")
        .then(None)
        .otherwise(pl.col("item").fill_null(none))
        .alias(name)
    ).to_series()


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Return a table as Parquet.

    In memory: where polars writes a file, a full disk is an error of its own.
    """
    made = BytesIO()
    frame.write_parquet(made, compression="zstd", statistics=True)
    return made.getvalue()


def difference(path: Path, expected: pl.DataFrame, by: Sequence[str]) -> Iterator[str]:
    """Yield the first thing that a Parquet file says and should not.

    `by` are the columns that say which row it is. The file has to be one whose
    bytes somebody vouched for: some damaged ones end the process that reads them.
    """
    try:
        found = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        yield f"{path.name} cannot be read as Parquet: {error}"
        return
    if found.schema != expected.schema:
        yield f"{path.name} {_other_columns(found, expected)}"
    elif found.height != expected.height:
        yield f"{path.name} has {found.height} rows, and the log gives {expected.height}"
    else:
        cells = (_other_cell(found, expected, name, by) for name in expected.columns)
        yield from (f"{path.name}: {said}" for said in islice(filter(None, cells), 1))


def _other_cell(
    found: pl.DataFrame, expected: pl.DataFrame, name: str, by: Sequence[str]
) -> str:
    same = found[name].eq_missing(expected[name])
    row = same.arg_min()
    if same.all() or row is None:
        return ""
    where = ", ".join(f"{key} {expected[key][row]}" for key in by)
    return (
        f"{where}: {name} is {_shown(found[name][row])}, and the log gives "
        f"{_shown(expected[name][row])}"
    )


def _other_columns(found: pl.DataFrame, expected: pl.DataFrame) -> str:
    for name, kind in expected.schema.items():
        if found.schema.get(name) != kind:
            has = found.schema.get(name, "missing")
            return f"column {name} is {has}, and should be {kind}"
    more = [name for name in found.columns if name not in expected.columns]
    if more:
        return f"has a column that should not be there: {more[0]}"
    return "has its columns in another order"


def _shown(cell: Any) -> Any:  # noqa: ANN401 - any cell
    return cell.to_list() if isinstance(cell, pl.Series) else cell
