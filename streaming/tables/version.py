"""The version of all tables together, in a file beside them: an evenkeel that is older neither writes nor reads them.

Columns and fields that are added need no new version: an older evenkeel writes rows without them, and does not read
them. Add one to ``TABLES_VERSION`` if it would do harm, or read rows wrongly. A copy of ``facts`` alone has no such
file, and neither had the tables of 0.1.0, which are refused.
"""

import msgspec
import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from msgspec import Struct

from schemas.facts import GroupFact, payload_column
from schemas.tables import FACTS
from streaming.errors import CheckpointError
from streaming.tables.storage import TextFiles, delta_uri

TABLES_VERSION = 1
_FILE = "_evenkeel.json"  # Hadoop takes a file whose name begins so for no data


class _Made(Struct, frozen=True):
    tables_version: int = 0


def require_known_tables(tables: str) -> int:
    """The version of the tables, 0 if they do not say it. Raises CheckpointError for one that is newer, and for tables
    of 0.1.0.
    """
    try:
        made = msgspec.json.decode(TextFiles(tables).read(_FILE) or "{}", type=_Made).tables_version
    except msgspec.MsgspecError as error:
        raise CheckpointError(f"{tables}/{_FILE} cannot be read ({error}): restore it, or delete it") from error
    if made == 0 and _is_of_0_1_0(f"{tables}/{FACTS.name}"):
        raise CheckpointError(
            f"the tables in {tables} are of evenkeel 0.1.0: upgrade with 0.2.0 first, or name another folder in "
            "tables.path"
        )
    if made > TABLES_VERSION:
        raise CheckpointError(
            f"the tables in {tables} are of version {made}, and this evenkeel knows version {TABLES_VERSION}: start "
            "the newer evenkeel, or name another folder in tables.path"
        )
    return made


def _is_of_0_1_0(facts: str) -> bool:
    """Whether the table lacks a field that 0.2.0 added. Of one that cannot be opened, its reader says why."""
    path = delta_uri(facts)
    try:
        schema = pa.schema(DeltaTable(path).schema().to_arrow()) if DeltaTable.is_deltatable(path) else pa.schema([])
    except (DeltaError, OSError):
        return False
    column = payload_column(GroupFact)
    return column in schema.names and schema.field(column).type.get_field_index("waiting") < 0


def take_tables(tables: str) -> None:
    """Before the first write: refuse tables of another evenkeel, and keep older ones from writing from now on."""
    if require_known_tables(tables) < TABLES_VERSION:
        TextFiles(tables).write(_FILE, msgspec.json.encode(_Made(TABLES_VERSION)).decode())
