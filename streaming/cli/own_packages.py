"""No command starts unless the packages `streaming` and `schemas` are evenkeel's own: others use these names, too."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from streaming.errors import SetupError

PACKAGES = ("streaming", "schemas")
FOLDER = Path(__file__).parents[2]  # which holds both: site-packages, or a checkout
REMEDY = "Install evenkeel in an environment of its own, with python3 -m venv, pipx or uv (docs/install.md)"


def require_own_packages(folder: Path = FOLDER) -> None:
    """Raise SetupError if another distribution has files in our packages, or if Python finds another ``schemas``."""
    if others := list(other_owners(folder)):
        raise SetupError(
            f"{' and '.join(others)} in {folder}: pip lets the one that is installed last overwrite the files of the "
            f"other. {REMEDY}, and install here again what evenkeel has overwritten"
        )
    found, own = find_spec("schemas"), folder / "schemas" / "__init__.py"
    if found is None or found.origin is None or Path(found.origin) != own:
        where = found.origin if found else "nowhere"
        raise SetupError(f"Python finds the package schemas in {where}, not evenkeel's own in {own.parent}. {REMEDY}")


def other_owners(folder: Path) -> Iterator[str]:
    """Each distribution in ``folder`` that is not evenkeel and has our names. ``packages_distributions`` takes 30 times
    as long (190 ms for 113 distributions), because it makes an object of each file.
    """
    for record in sorted(folder.glob("[!~]*.dist-info/RECORD")):  # ~: what pip had begun to remove
        name, _, version = record.parent.name.removesuffix(".dist-info").partition("-")
        lines = b"\n" + record.read_bytes()
        if name != "evenkeel_rocketmq" and (has := [one for one in PACKAGES if f"\n{one}/".encode() in lines]):
            yield f"{name} {version} has packages of evenkeel's names ({', '.join(has)})"
