"""The sections of ``conf/alerts.toml``: sinks of pages, grouping, and when evenkeel itself is in trouble."""

from typing import Annotated, Literal

from pydantic import Field

from streaming.config.values import File, Pattern, SecretKind, Section

SinkKind = Literal[
    "log", "webhook", "alertmanager", "pagerduty", "dingtalk", "feishu", "wecom", "slack", "mail", "apprise"
]
Paging = Literal["critical", "warning"]
PAGING: tuple[Paging, ...] = ("critical", "warning")
SEVERITIES = 'an array of one or both of "critical" and "warning"'
SINK_NAME = "letters, digits, dots, underscores or hyphens, that no other sink has for a name"
SECRET = '{ env = "NAME" }, a variable of the environment that holds it, or { file = "/path" }'


class Pages(Section):
    """The grouping of alerts into pages."""

    wait_seconds: float = Field(10, ge=0, le=600, allow_inf_nan=False)
    storm_groups: int = Field(20, ge=1, le=10_000)
    storm_seconds: float = Field(120, ge=1, le=3600, allow_inf_nan=False)
    update_seconds: float = Field(60, ge=1, le=86_400, allow_inf_nan=False)
    link: str = ""
    docs: str = ""
    time_zone: str = ""


class Monitor(Section):
    """The limits above which evenkeel itself is in trouble."""

    blind_seconds: float = Field(35, ge=5, le=3600, allow_inf_nan=False)
    late_seconds: float = Field(60, ge=10, le=3600, allow_inf_nan=False)


class Heartbeat(Section):
    """The calls to an external dead-man switch."""

    url: Annotated[str, SecretKind.ADDRESS] = ""
    every_seconds: float = Field(60, ge=5, le=3600, allow_inf_nan=False)


class SecretPlace(Section):
    """The place of a secret, which is never in the file itself."""

    env: str = ""
    file: File = ""


class SinkSection(Section):
    name: str = Field("", description=SINK_NAME)
    kind: SinkKind = "log"
    language: Literal["en", "zh"] = "en"
    url: Annotated[str, SecretKind.ADDRESS] = ""
    secret: SecretPlace | None = Field(None, description=SECRET)
    timeout_seconds: float = Field(10, ge=0.1, le=60, allow_inf_nan=False)


class RouteSection(Section):
    """The sinks for some alerts; the first route that matches counts."""

    cluster: Pattern = "*"
    group: Pattern = "*"
    severities: list[Paging] = Field(default_factory=lambda: list(PAGING), min_length=1, description=SEVERITIES)
    sinks: list[str] = Field(default_factory=list)


class Alerts(Section):
    """The whole file, read by ``load_alerts``. Without a file, all pages go to the log."""

    pages: Pages = Field(default_factory=Pages)
    monitor: Monitor = Field(default_factory=Monitor)
    heartbeat: Heartbeat = Field(default_factory=Heartbeat)
    sinks: list[SinkSection] = Field(default_factory=lambda: [SinkSection(name="log", kind="log")])
    routes: list[RouteSection] = Field(default_factory=list)
