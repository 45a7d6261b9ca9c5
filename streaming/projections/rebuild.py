"""``evenkeel rebuild``: every projection made again from ``facts``."""

from deltalake import DeltaTable

from schemas.tables import PROJECTIONS
from streaming.projections.projector import Tell, run_projections
from streaming.tables.storage import delta_uri


def rebuild(tables: str, tell: Tell | None = None) -> dict[str, int]:
    """Rows of each table afterwards. Raises CheckpointError while another process writes the projections.

    ``tell`` hears how many facts are read, and of how many. Rows whose facts have expired can't be made again and stay
    as they are.
    """
    run_projections(tables, afresh=True, tell=tell)
    return {table.name: DeltaTable(delta_uri(f"{tables}/{table.name}")).count() for table in PROJECTIONS}
