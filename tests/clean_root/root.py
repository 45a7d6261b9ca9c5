"""A Debian with git, make and python3 and nothing else, in a folder; and a checkout in it."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDED = ("debootstrap", "unshare", "chroot")
PROGRAMS = "ca-certificates,git,make,python3"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
PASSED_ON = (
    "PIP_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)
CHECKOUT = "/srv/evenkeel"
# $1: the root. What follows is executed in it. The mounts end with the process.
BEGIN = """set -e
for one in proc sys dev; do mount --rbind "/$one" "$1/$one"; done
root=$1
shift
exec chroot "$root" "$@"
"""


def missing() -> str:
    """The reason why there can be no clean root here, or nothing."""
    if os.geteuid() != 0:
        return "only root can make a clean root"
    if gone := [program for program in NEEDED if shutil.which(program) is None]:
        return f"{', '.join(gone)} missing: apt-get install debootstrap"
    return ""


def make_root(suite: str, folder: Path) -> Path:
    """A root of that Debian, with the certificates that this machine trusts, and how it reaches its networks."""
    root = folder / suite
    command = ["debootstrap", "--variant=minbase", f"--include={PROGRAMS}", suite, str(root)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    own = Path("/usr/local/share/ca-certificates")
    if own.is_dir():
        shutil.copytree(own, root / str(own)[1:], dirs_exist_ok=True)
    for file in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf"):
        if Path(file).exists():
            shutil.copy(file, root / file[1:])
    subprocess.run(in_root(root, ["update-ca-certificates"]), capture_output=True, check=True)
    return root


def copy_of(root: Path, target: Path) -> Path:
    """Another such root, with a checkout of the commit at hand in it."""
    subprocess.run(["cp", "-a", root, target], check=True)
    subprocess.run(["git", "clone", "-q", ROOT, target / CHECKOUT[1:]], check=True)
    return target


def in_root(root: Path, command: Sequence[str], network: bool = True, before: str = "") -> list[str]:
    """The words that execute a command there, as root. ``before``: shell commands in the new namespaces, before it."""
    spaces = ["unshare", "--mount", *([] if network else ["--net"])]
    return [*spaces, "sh", "-c", f"{before}\n{BEGIN}", "sh", str(root), "env", "-i", *environment(), *command]


def environment() -> list[str]:
    """No cache and no home of this machine: only how it reaches its networks."""
    own = [f"{name}={os.environ[name]}" for name in PASSED_ON if name in os.environ]
    if os.environ.get("SSL_CERT_FILE") == CERTIFICATES:
        own += [f"{name}={CERTIFICATES}" for name in ("SSL_CERT_FILE", "PIP_CERT")]
    return [*own, "HOME=/root", "LANG=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
