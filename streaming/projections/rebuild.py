"""The command ``evenkeel rebuild``, which makes every projection again from ``facts``."""

from deltalake import DeltaTable

from schemas.tables import PROJECTIONS
from streaming.projections.projector import Tell, run_projections
from streaming.tables.storage import delta_uri


def rebuild(tables: str, tell: Tell | None = None) -> dict[str, int]:
    """Rebuild; return the rows of each table. Raises CheckpointError while another process writes the projections.

    ``tell`` is called with the numbers of facts read and of all facts. Rows whose facts have expired cannot be made
    again, and stay unchanged.
    """
    run_projections(tables, afresh=True, tell=tell)
    return {table.name: DeltaTable(delta_uri(f"{tables}/{table.name}")).count() for table in PROJECTIONS}
