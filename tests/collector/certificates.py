"""Certificates for tests of TLS, made by openssl."""

import shutil
import subprocess
from pathlib import Path

import pytest


def self_signed(folder: Path, subject: str, passphrase: str | None = None) -> Path:
    """A certificate that signs itself, and its key, in one file. ``passphrase`` encrypts the key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificate")
    key, made = folder / "key.pem", folder / "certificate.pem"
    protection = ["-nodes"] if passphrase is None else ["-passout", f"pass:{passphrase}"]
    words = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 2 -subj /CN={subject}"
    command = [openssl, *words.split(), *protection, "-keyout", str(key), "-out", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    made.write_text(made.read_text() + key.read_text())
    return made
