"""Pages that others can reach want to know who reads them; every fault of ``[web]`` is named at once."""

from pathlib import Path

import pytest

from streaming.config.load import load_config
from tests.config.test_faults import faults


@pytest.mark.parametrize("listen", ["127.0.0.1:8400", "localhost:0", "[::1]:8400", "127.9.9.9:1"])
def test_this_machine_may_read_without_users(listen: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(f'[web]\nlisten = "{listen}"')
    assert load_config(tmp_path / "x.toml", {}, writes=()).web.listen == listen


@pytest.mark.parametrize("listen", ["0.0.0.0:8400", "[::]:8400", "10.0.0.1:8400", "evenkeel.example:8400"])
def test_any_other_address_wants_users_or_proxies(listen: str, tmp_path: Path) -> None:
    (one,) = faults(f'[web]\nlisten = "{listen}"', tmp_path)
    assert one.endswith("where neither web.users nor web.proxies says who may read")
    (tmp_path / "x.toml").write_text(f'[web]\nlisten = "{listen}"\nproxies = ["10.0.0.7", "fd00::/8"]')
    assert load_config(tmp_path / "x.toml", {}, writes=()).web.address()[1] == 8400


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('listen = "8400"', "host:port of this machine"),
        ('listen = "127.0.0.1:99999"', "host:port of this machine"),
        ('proxies = ["10.0.0.300"]', "an array of addresses and networks"),
        ('proxy_header = "X User"', "a name of an HTTP header"),
        ('users = "/no/such/file"', "a file that exists and can be read"),
        ('tls_cert_file = "/no/such/file"', "a file, since web.tls_cert_file is given"),
    ],
)
def test_what_a_key_allows_is_said(text: str, said: str, tmp_path: Path) -> None:
    assert any(said in fault for fault in faults(f"[web]\n{text}", tmp_path))


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    found = faults(
        '[web]\nlisten = "0.0.0.0:1"\nusers = ""\ntls_key_file = "/no/such/key"\nproxy_header = ""', tmp_path
    )
    assert len(found) == 4
