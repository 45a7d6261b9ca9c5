"""The alert rules: their file explains every key, and each fault of it is told."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from streaming.config.alerts import Alerts, RouteSection, SecretPlace, SinkSection
from streaming.config.config_errors import ConfigFaults
from streaming.config.keys import all_keys
from streaming.config.load import load_alerts
from streaming.config.secrets import secret_at
from streaming.config.sections import Config
from tests.config.annotated import compare_with_declarations

FILE = Path(__file__).parents[2] / "conf" / "alerts.toml"
TEXT = FILE.read_text("utf-8")
KEYS = sorted(
    {".".join(map(str, key)) for key in all_keys(Alerts) if key not in (("sinks",), ("routes",))}
    | {f"sinks.{name}" for name in SinkSection.model_fields}
    | {f"routes.{name}" for name in RouteSection.model_fields}
)

Load = Callable[..., Alerts]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load(text: str, environ: dict[str, str] | None = None, config: Config | None = None) -> Alerts:
        path = tmp_path / "alerts.toml"
        path.write_text(text, encoding="utf-8")
        config = config or Config()
        notify = config.notify.model_copy(update={"alerts": str(path)})
        return load_alerts(config.model_copy(update={"notify": notify}), environ or {})

    return load


def documented() -> dict[str, list[str]]:
    """Each key of the file, in its first place, with the comment lines above."""
    found: dict[str, list[str]] = {}
    table, comment = "", []
    for line in TEXT.splitlines():
        if match := re.fullmatch(r"#?\[+([a-z]+)\]+", line):
            table, comment = match[1], []
        elif match := re.fullmatch(r"#?([a-z_]+) = .+", line):
            found.setdefault(f"{table}.{match[1]}", comment)
            comment = []
        elif line.startswith("# "):
            comment = [*comment, line]
        elif not line:
            comment = []
    return found


def test_file_has_every_key_at_its_default(load: Load) -> None:
    assert load(TEXT) == Alerts() == load_alerts(Config(), {})
    assert sorted(documented()) == KEYS


@pytest.mark.parametrize("name", KEYS)
def test_comment_says_what_the_key_does_and_allows(name: str) -> None:
    comment = documented()[name]
    assert len(comment) >= 2
    assert comment[-1].startswith("# Allowed: ")


def test_defaults_and_bounds_are_those_of_the_declarations() -> None:
    compare_with_declarations(FILE, Alerts)


def test_examples_are_valid(load: Load) -> None:
    text = re.sub(r"(?m)^#(?=[^ \n])", "", TEXT).replace('kind = "log"', 'kind = "webhook"')
    alerts = load(text, {"EVENKEEL_WEBHOOK_KEY": "x"})
    assert [route.sinks for route in alerts.routes] == [["log"], ["log"]]


def faults(load: Load, text: str, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigFaults) as raised:
        load(text, environ)
    return [re.sub(r"^.*?alerts\.toml(:\d+)?: ", "", str(fault)) for fault in raised.value.faults]


HTTP = "an address that begins with https:// or http://"
NAME = "letters, digits, dots, underscores or hyphens, that no other sink has for a name"
LAST = "a last route for all that is left, with neither cluster, group nor severities; sinks = [] is nobody"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[pages]\nwait_seconds = -1", "pages.wait_seconds = -1: a number from 0 to 600"),
        ('[pages]\ntime_zone = "Mars"', 'pages.time_zone = "Mars": a name that this machine knows: "Asia/Shanghai"'),
        ('[pages]\ntime_zone = "Asia"', 'pages.time_zone = "Asia": a name that this machine knows: "Asia/Shanghai"'),
        ('[pages]\ndocs = "docs"', 'pages.docs = "docs": an address that begins with https:// or http://, where '
         "evenkeel's folder docs/ can be read"),
        ("[pages]\nwait_second = 1", "pages.wait_second = 1: unknown key; did you mean pages.wait_seconds?"),
        ("[paegs]\nx = 1", "paegs = {\"x\": 1}: unknown key; did you mean pages?"),
        ("sinks = 1", "sinks = 1: an array of tables, each written [[sinks]]"),
        ("routes = [1]", "routes[0] = 1: a table"),
        ('[pages]\nlink = "https://x/{host}"', 'pages.link = "https://x/{host}": ' + HTTP
         + "; {cluster}, {group} and {alert} in it stand for their names"),
        ('[heartbeat]\nurl = "hc-ping.com/x"', f'heartbeat.url = "***": {HTTP}'),
        ("[monitor]\nblind_seconds = 30", "monitor.blind_seconds = 30: at least 35: job.health_seconds and "
         "collector.interval_seconds say how often there is news"),
        ("[[sinks]]", f'sinks[0].name = "": {NAME}'),
        ('[[sinks]]\nname = "a"\n[[sinks]]\nname = "a"',
         f'sinks[1].name = "a": {NAME}'),
        ('[[sinks]]\nname = "a"\nkind = "webhook"', f'sinks[0].url: {HTTP}, since kind is webhook'),
        ('[[sinks]]\nname = "a"\nkind = "pagerduty"',
         'sinks[0].secret = "***": given where kind is pagerduty: the integration key'),
        ('[[sinks]]\nname = "a"\nkind = "slack"', 'sinks[0].secret = "***": given where kind is slack: '
         "the address that apprise takes, which holds the token"),
        ('[[sinks]]\nname = "a"\nkind = "slack"\nsecret = { env = "SET" }\nurl = "https://x"',
         'sinks[0].url = "***": nothing where kind is slack; its address is its secret'),
        ('[[sinks]]\nname = "a"\nsecret = { env = "SET" }', 'sinks[0].secret = "***": nothing where kind is log'),
        ('[[sinks]]\nname = "a"\nkind = "pagerduty"\nsecret = "hunter2"',
         'sinks[0].secret = "***": { env = "NAME" }, a variable of the environment that holds it, '
         'or { file = "/path" }'),
        ('[[sinks]]\nname = "a"\nkind = "pagerduty"\nsecret = { env = "UNSET" }',
         'sinks[0].secret.env = "***": the name of a variable that is set and not empty'),
        ('[[sinks]]\nname = "a"\nkind = "pagerduty"\nsecret = { file = "/none" }',
         'sinks[0].secret.file = "***": a file that exists and can be read'),
        ('[[sinks]]\nname = "a"\nkind = "pagerduty"\nsecret = {}', 'sinks[0].secret = "***": one of env and file'),
        ('[[routes]]\nsinks = ["pager", "log"]', 'routes[0].sinks = ["pager"]: names of sinks: log'),
        ('[[routes]]\ncluster = "a/b"\n[[routes]]',
         'routes[0].cluster = "a/b": a pattern without /, since no cluster\'s name has one'),
        ('[[routes]]\nseverities = ["info"]\n[[routes]]',
         'routes[0].severities[0] = "info": an array of one or both of "critical" and "warning"'),
        ('[[routes]]\ngroup = "a"', f'routes[0] = "": {LAST}'),
        ("[[routes]]\n[[routes]]",
         'routes[0] = "": the last route: routes[0] is for everything, and the first match counts'),
    ],
)  # fmt: skip
def test_fault_says_what_is_allowed(text: str, expected: str, load: Load) -> None:
    assert faults(load, text, {"SET": "hunter2"}) == [expected]


def test_all_faults_are_told_at_once_and_no_secret_with_them(load: Load) -> None:
    told = faults(
        load,
        '[pages]\nstorm_groups = 0\n[[sinks]]\nkind = "pagerdty"\n[[sinks]]\nname = "x"\nsecret = "hunter2"\n'
        '[[routes]]\nsinks = ["y"]\n',
    )
    assert len(told) == 5
    assert "hunter2" not in "".join(told)


def test_blind_follows_how_often_there_is_news(load: Load) -> None:
    job = Config().job.model_copy(update={"health_seconds": 60.0})
    with pytest.raises(ConfigFaults, match="at least 125"):
        load("", None, Config().model_copy(update={"job": job}))


def test_secret_is_read_from_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2\n")
    assert secret_at(None) == ""
    assert secret_at(SecretPlace(file=str(tmp_path / "secret"))) == "hunter2"
    assert secret_at(SecretPlace(env="X"), {"X": "hunter2"}) == "hunter2"


@pytest.mark.parametrize(
    "link", ["https://x/{cluster!x}", "https://x/{group:d}", "https://x/{group.name}", "https://x/{group[0]}",
             "https://x/{", "https://x/{}", "https://{group} x", "https://a..b/{group}", "http://[::1", "https://x:99999/"]
)  # fmt: skip
def test_link_that_would_fail_when_somebody_is_paged_is_refused_at_start(link: str, load: Load) -> None:
    (fault,) = faults(load, f'[pages]\nlink = "{link}"')
    assert fault.startswith("pages.link")


@pytest.mark.parametrize(
    "url", ["https://a..b", "http://[::1", "http://x:999999", "http://" + "a" * 64 + ".b", "http://"]
)
def test_address_that_cannot_be_reached_by_anybody_is_refused(url: str, load: Load) -> None:
    (fault,) = faults(load, f'[[sinks]]\nname = "a"\nkind = "webhook"\nurl = "{url}"')
    assert fault.startswith("sinks[0].url")
    assert f'{url}"' not in fault, "a path may be a secret"


def test_a_variable_that_is_missing_is_named(load: Load) -> None:
    text = '[[sinks]]\nname = "a"\nkind = "pagerduty"\nsecret = { env = "PAGER_KEY" }'
    with pytest.raises(ConfigFaults, match="a variable that is set and not empty; PAGER_KEY is not"):
        load(text)


@pytest.mark.parametrize("kind", ["webhook", "pagerduty", "alertmanager"])
@pytest.mark.parametrize("secret", ["", "  \t", "\n"])
def test_secret_that_is_empty_is_refused(kind: str, secret: str, load: Load, tmp_path: Path) -> None:
    url = "" if kind == "pagerduty" else 'url = "http://x"\n'
    sink = f'[[sinks]]\nname = "a"\nkind = "{kind}"\n{url}'
    (by_variable,) = faults(load, sink + 'secret = { env = "S" }', {"S": secret})
    assert by_variable.startswith("sinks[0].secret.env")
    (tmp_path / "secret").write_text(secret)
    (by_file,) = faults(load, sink + f'secret = {{ file = "{tmp_path}/secret" }}')
    assert by_file.endswith("a file that is not empty")


@pytest.mark.parametrize("make", [lambda path: path.write_bytes(b"\xff\xfe\x00"), Path.mkdir], ids=["binary", "folder"])
def test_secret_that_is_no_text_is_refused(make: Callable[[Path], object], load: Load, tmp_path: Path) -> None:
    make(tmp_path / "secret")
    sink = f'[[sinks]]\nname = "a"\nkind = "pagerduty"\nsecret = {{ file = "{tmp_path}/secret" }}'
    (fault,) = faults(load, sink)
    assert fault.startswith("sinks[0].secret.file")


@pytest.mark.parametrize("token", ["密钥", "one two", "caf\u00e9"])
def test_token_that_no_header_can_carry_is_refused(token: str, load: Load) -> None:
    sink = '[[sinks]]\nname = "a"\nkind = "alertmanager"\nurl = "http://x"\nsecret = { env = "S" }'
    (fault,) = faults(load, sink, {"S": token})
    assert fault.endswith("the place of a bearer token: ASCII without blanks")
    assert token not in fault


@pytest.mark.parametrize(
    "keys",
    [
        'secret = { env = "hunter2" }',
        'secret = { file = "/hunter2" }',
        'secret = { evn = "hunter2" }',
        'secrte = "hunter2"',
        'url = "slack://hunter2"\nsecret = { env = "SET" }',
        'webhook_adress = ["hunter2", { a = "hunter2" }]',
    ],
)
def test_secret_in_the_wrong_place_is_not_shown(keys: str, load: Load) -> None:
    found = faults(load, f'[[sinks]]\nname = "a"\nkind = "slack"\n{keys}', {"SET": "x"})
    assert found
    assert "hunter2" not in "".join(found)
