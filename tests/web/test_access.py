"""Who gets in, and who does not."""

from base64 import b64encode
from ipaddress import ip_network
from pathlib import Path

import pytest

from streaming.errors import SetupError
from streaming.networks import networks
from streaming.web.security.access import Access, AccessRules, TooMany
from streaming.web.security.forms import FormTokens, comes_from_here
from streaming.web.security.users import User, Users, new_token, password_line, read_users

NOBODY = Users({}, {})
HERE = "127.0.0.1:8400"
SOUND = f"8:1:{'A' * 22}==:{'A' * 43}="  # what follows the cost in a line


def basic(name: str, password: str) -> str:
    return "Basic " + b64encode(f"{name}:{password}".encode()).decode()


@pytest.fixture(scope="module")
def token() -> tuple[str, str]:
    return new_token("robot", "read")


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory, token: tuple[str, str]) -> Users:
    file = tmp_path_factory.mktemp("users") / "users"
    lines = ["# on call", "", password_line("ada", "silence", "correct horse"), token[1]]
    file.write_text("\n".join(lines))
    return read_users(str(file))


def asked(users: Users, authorization: str, **more: str) -> User | None:
    return Access(AccessRules(users, needs_user=True)).user("10.0.0.9", authorization, **more)


def test_a_password_and_a_token_say_who_asks(users: Users, token: tuple[str, str]) -> None:
    assert asked(users, basic("ada", "correct horse")) == User("ada", may_silence=True)
    assert asked(users, f"Bearer {token[0]}") == User("robot", may_silence=False)
    assert asked(users, f"bearer {token[0]}") == User("robot", may_silence=False)


@pytest.mark.parametrize(
    "authorization",
    [
        "", basic("ada", "wrong horse"), basic("ada", ""), basic("eve", "correct horse"), basic("", ""),
        basic("ada", "correct horse ")[:-3], "Basic not-base64!", "Basic " + b64encode(b"no colon").decode(),
        "Basic " + b64encode(b"\xff\xfe:x").decode(), "Bearer ", "Bearer wrong", "Digest ada", "ada", "Basic",
        basic("ada", "x" * 100_000),
    ],
)  # fmt: skip
def test_nothing_else_gets_in(users: Users, authorization: str) -> None:
    assert asked(users, authorization) is None


def test_a_right_password_is_hashed_once(users: Users) -> None:
    access = Access(AccessRules(users, needs_user=True))
    given = ("10.0.0.9", basic("ada", "correct horse"))
    assert access.user(*given) == User("ada", True)
    access._hashing.acquire()
    access._hashing.acquire()  # as while others are being checked
    assert access.user(*given) == User("ada", True)
    with pytest.raises(TooMany):
        access.user("10.0.0.9", basic("ada", "another"))


def test_a_header_counts_only_from_a_proxy() -> None:
    rules = AccessRules(NOBODY, True, networks(["10.0.0.0/24", "::1"]), may_silence=frozenset({"ada"}))
    access = Access(rules)
    assert access.user("10.0.0.7", proxy_user="ada") == User("ada", True)
    assert access.user("::ffff:10.0.0.7", proxy_user="bob") == User("bob", False)
    assert access.user("10.0.1.7", proxy_user="ada") is None
    assert access.user("", proxy_user="ada") is None
    assert access.user("10.0.0.7") is None


def test_without_authentication_this_machine_reads_and_may_not_silence() -> None:
    assert Access(AccessRules(NOBODY, False)).user("127.0.0.1") == User("local", False)
    everybody = AccessRules(NOBODY, False, may_silence=frozenset("*"))
    assert Access(everybody).user("127.0.0.1") == User("local", True)


@pytest.mark.parametrize(
    ("host", "needs_user", "hosts", "is_known"),
    [
        ("localhost:8400", False, (), True),
        ("127.0.0.1", False, (), True),
        ("[::1]:8400", False, (), True),
        ("evil.example:8400", False, (), False),
        ("", False, (), False),
        ("127.0.0.1.evil.example", False, (), False),
        ("pages.example", True, (), True),
        ("pages.example", True, ("pages.example",), True),
        ("PAGES.example:443", False, ("pages.example",), True),
        ("evil.example", True, ("pages.example",), False),
    ],
)
def test_a_page_of_another_site_cannot_lend_its_name(
    host: str, needs_user: bool, hosts: tuple[str, ...], is_known: bool
) -> None:
    rules = AccessRules(NOBODY, needs_user, hosts=frozenset(hosts))
    assert Access(rules).is_host_known(host) is is_known


def test_a_form_token_is_of_one_user_one_process_and_some_hours() -> None:
    forms, now = FormTokens(), 1_700_000_000_000
    token = forms.token("ada", now)
    assert forms.is_valid(token, "ada", now + 11 * 3_600_000)
    assert not forms.is_valid(token, "ada", now + 14 * 3_600_000)
    assert not forms.is_valid(token, "bob", now)
    assert not FormTokens().is_valid(token, "ada", now)
    assert not forms.is_valid("", "ada", now)
    assert not forms.is_valid("é", "ada", now)


@pytest.mark.parametrize(
    ("origin", "site", "is_ours"),
    [
        ("", "", True),
        ("http://127.0.0.1:8400", "same-origin", True),
        ("http://127.0.0.1:8400", "", True),
        ("http://evil.example", "", False),
        ("http://127.0.0.1:9999", "", False),
        ("null", "", False),
        ("", "cross-site", False),
        ("", "same-site", False),
        ("http://127.0.0.1:8400", "cross-site", False),
        ("http://[", "", False),
        ("http://[::1", "same-origin", False),
        ("http://a]b:c@127.0.0.1:8400", "", False),
    ],
)
def test_a_form_of_another_site_is_known_by_its_headers(origin: str, site: str, is_ours: bool) -> None:
    assert comes_from_here(HERE, origin, site) is is_ours


@pytest.mark.parametrize(
    "line",
    [
        "ada", "ada read", "ada write token:" + "0" * 64, "ada read token:123", "ada read token:xyz",
        "ada read plain:x",
        "ada read scrypt:2:8:1:AAAA:AAAA", "ada read scrypt:16384:8:1:AAAA:AAAA", "a b read token:" + "0" * 64,
        f"ada read scrypt:16383:{SOUND}",
        f"ada read scrypt:1073741824:{SOUND}",
    ],
)  # fmt: skip
def test_every_line_that_is_wrong_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "users"
    file.write_text(f"{line}\nbob silence nothing:x\n")
    with pytest.raises(SetupError) as refused:
        read_users(str(file))
    assert [text.split(":")[1] for text in str(refused.value).splitlines()] == ["1", "2"]


def test_a_line_is_refused_for_its_cost_alone(tmp_path: Path) -> None:
    (tmp_path / "users").write_text(f"ada read scrypt:16384:{SOUND}\n")
    assert read_users(str(tmp_path / "users")).by_password("ada", "x") is None


def test_a_file_without_a_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("# nobody yet\n")
    with pytest.raises(SetupError, match="a file with a user in it"):
        read_users(str(tmp_path / "users"))
    with pytest.raises(SetupError, match="cannot be read"):
        read_users(str(tmp_path / "none"))


def test_names_and_passwords_that_cannot_be() -> None:
    for name in ("", "a b", "a:b", "x" * 65, "a\nb"):
        with pytest.raises(SetupError, match="a name has 1 to 64 characters"):
            new_token(name, "read")
    with pytest.raises(SetupError, match="a password has 8"):
        password_line("ada", "read", "short")


def test_networks_are_read() -> None:
    assert networks(["10.0.0.7", "10.1.2.3/16"]) == (ip_network("10.0.0.7/32"), ip_network("10.1.0.0/16"))
