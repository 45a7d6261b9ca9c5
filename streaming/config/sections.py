"""The sections of the configuration: defaults and allowed values. ``conf/evenkeel.toml`` explains the keys."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, create_model

from schemas.tables import TABLES
from streaming.config import values
from streaming.config.options import KafkaOptions, ProducerOptions, SparkSettings, plain
from streaming.core.allocation.machine_room_nearby import NAME_BEFORE_INNER
from streaming.core.default_settings import DEFAULT_TIMING
from streaming.core.settings import GroupRule, Settings, Timing

_OF_STRATEGY = {"consumeridcs": "consumeridcs", "virtual_node_count": "virtualNodeCnt"}
_OF_ROOMS = {"broker_rooms": "brokerRooms", "client_rooms": "clientRooms", "room_separator": "byPrefix"}
_QUEUE_LIST = "message_queue_list"

PARAM_KEYS = (_QUEUE_LIST, *_OF_STRATEGY, *_OF_ROOMS)
NAME_OF_PARAM = {"messageQueueList": _QUEUE_LIST} | {java: key for key, java in (_OF_STRATEGY | _OF_ROOMS).items()}


class Source(values.Section):
    kind: Literal["kafka", "files"] = "kafka"
    topic: values.Topic = "evenkeel-events"
    bootstrap_servers: str = "localhost:9092"
    starting_offsets: values.Offsets = "earliest"
    max_offsets_per_trigger: int = Field(20_000, ge=1, le=100_000_000)
    kafka: KafkaOptions = Field(default_factory=dict)
    folder: values.Folder = "data/events"
    trusted_sources: list[str] = Field(default_factory=list)

    def kafka_options(self) -> dict[str, str]:
        """The ``kafka.*`` options as Spark takes them, secrets in clear, without the bootstrap servers."""
        return {f"kafka.{name}": value for name, value in plain(self.kafka).items()}


# The days for which rows of each table are kept, by default those of the table's definition; 0: without end.
_DAYS: Any = {table.name: (int, Field(table.keep_days, ge=0, le=36_500)) for table in TABLES if table.keep_days}
Retention = create_model("Retention", __base__=values.Section, **_DAYS)


class Tables(values.Section):
    path: values.Folder = "data/tables"
    retention_days: Retention = Field(default_factory=Retention)


class Job(values.Section):
    checkpoint: values.Folder = "data/checkpoint"
    shards: int = Field(32, ge=1, le=4096)
    trigger_seconds: float = Field(1, ge=0, le=600, allow_inf_nan=False)
    projection_seconds: float = Field(5, ge=1, le=3600, allow_inf_nan=False)
    health_seconds: float = Field(15, ge=1, le=300, allow_inf_nan=False)
    maintenance: bool = True


class Spark(values.Section):
    master: str = ""
    jars_folder: values.LocalFolderIfAny = ""
    settings: SparkSettings = Field(default_factory=dict)

    def spark_settings(self) -> dict[str, str]:
        """The ``spark.*`` options as the session takes them, secrets in clear; the master only if it is set."""
        return plain(self.settings) | ({"spark.master": self.master} if self.master else {})


class OwnedQueue(values.Section):
    """One queue in the list of CONFIG."""

    topic: str = Field(min_length=1)
    broker_name: str = Field(min_length=1)
    queue_id: int = Field(ge=0, le=2**31 - 1)


class Collector(values.Section):
    """The requests to RocketMQ, and the output of the collector."""

    clusters: values.Clusters = Field(default_factory=dict)
    proxies: values.Proxies = Field(default_factory=dict)
    broker_metrics_port: int = Field(0, ge=0, le=65_535)
    interval_seconds: float = Field(5, ge=1, le=60, allow_inf_nan=False)
    timeout_seconds: float = Field(3, ge=0.1, le=60, allow_inf_nan=False)
    running_info: bool = True
    running_info_seconds: float = Field(20, ge=5, le=80, allow_inf_nan=False)
    offsets_seconds: float = Field(20, ge=5, le=170, allow_inf_nan=False)
    idle_offsets_seconds: float = Field(60, ge=5, le=170, allow_inf_nan=False)
    route_seconds: float = Field(10, ge=1, le=60, allow_inf_nan=False)
    include: list[str] = Field(default_factory=lambda: ["*"])
    exclude: list[str] = Field(default_factory=list)
    networks: values.Networks = Field(default_factory=list)
    access_key: Annotated[str, values.SecretKind.NAME] = ""
    secret_key: SecretStr = Field(default=SecretStr(""), description="text; better in the environment")
    secret_key_file: Annotated[values.File, values.SecretKind.FILE] = ""
    tls: bool = False
    tls_ca_file: values.File = ""
    tls_cert_file: values.File = ""
    tls_key_file: Annotated[values.File, values.SecretKind.FILE] = ""
    tls_verify: bool = True
    output: Literal["kafka", "file"] = "kafka"
    file: values.File = "data/events/collected.jsonl"
    state: values.LocalFolder = "data/collector"
    memory_mb: int = Field(64, ge=1, le=65_536)
    failover_topic: values.TopicIfAny = ""
    kafka: ProducerOptions = Field(default_factory=dict)


def _seconds(milliseconds: int) -> float:
    return milliseconds / 1000


class TimingSection(values.Section):
    """The timers of ``core.settings.Timing`` that can be set. The defaults follow RocketMQ's own timers."""

    grace_membership_seconds: values.Seconds = _seconds(DEFAULT_TIMING.grace_membership_ms)
    grace_route_seconds: values.Seconds = _seconds(DEFAULT_TIMING.grace_route_ms)
    grace_broker_seconds: values.Seconds = _seconds(DEFAULT_TIMING.grace_broker_ms)
    grace_orderly_extra_seconds: values.Seconds = _seconds(DEFAULT_TIMING.grace_orderly_extra_ms)
    settle_limit: int = Field(DEFAULT_TIMING.settle_limit, ge=1, le=100)
    hold_critical_seconds: values.Seconds = _seconds(DEFAULT_TIMING.hold_critical_ms)
    hold_warning_seconds: values.Seconds = _seconds(DEFAULT_TIMING.hold_warning_ms)
    stall_seconds: values.SomeSeconds = _seconds(DEFAULT_TIMING.stall_ms)
    consume_stall_seconds: values.SomeSeconds = _seconds(DEFAULT_TIMING.consume_stall_ms)
    report_max_age_seconds: values.SomeSeconds = _seconds(DEFAULT_TIMING.report_max_age_ms)
    view_max_age_seconds: values.SomeSeconds = _seconds(DEFAULT_TIMING.view_max_age_ms)
    route_max_age_seconds: values.SomeSeconds = _seconds(DEFAULT_TIMING.route_max_age_ms)
    progress_max_gap_seconds: values.SomeSeconds = _seconds(DEFAULT_TIMING.progress_max_gap_ms)
    deploy_wait_seconds: values.Seconds = _seconds(DEFAULT_TIMING.deploy_wait_ms)
    second_address_proof_seconds: values.Seconds = _seconds(DEFAULT_TIMING.second_address_proof_ms)
    ahead_of_clock_seconds: values.Seconds = _seconds(DEFAULT_TIMING.ahead_of_clock_ms)
    storm_window_seconds: values.SomeSeconds = _seconds(DEFAULT_TIMING.storm_window_ms)
    storm_changes: int = Field(DEFAULT_TIMING.storm_changes, ge=1, le=10_000)
    gone_after_seconds: values.LongSeconds = _seconds(DEFAULT_TIMING.gone_after_ms)
    forget_after_seconds: values.LongSeconds = _seconds(DEFAULT_TIMING.forget_after_ms)

    def timing(self) -> Timing:
        return Timing(**dict(_as_in_the_core(*item) for item in self.model_dump().items()))


def _as_in_the_core(name: str, value: float) -> tuple[str, Any]:
    """A timer in milliseconds; a count unchanged."""
    if not name.endswith("_seconds"):
        return name, value
    return f"{name.removesuffix('_seconds')}_ms", round(value * 1000)


def strategy_params(strategy: str | None, rule: Mapping[str, Any]) -> dict[str, object]:
    """The parameters among the keys of ``rule``. Those of the strategy inside MACHINE_ROOM_NEARBY go to ``inner``."""
    params: dict[str, object] = {java: rule[key] for key, java in _OF_STRATEGY.items() if key in rule}
    if _QUEUE_LIST in rule:
        params["messageQueueList"] = [
            {"topic": queue["topic"], "brokerName": queue["broker_name"], "queueId": queue["queue_id"]}
            for queue in rule[_QUEUE_LIST]
        ]
    rooms: dict[str, object] = {java: rule[key] for key, java in _OF_ROOMS.items() if key in rule}
    if strategy is None or not strategy.startswith(f"{NAME_BEFORE_INNER}-"):
        return params | rooms
    return rooms | {"inner": {"strategy": strategy.removeprefix(f"{NAME_BEFORE_INNER}-"), "params": params}}


class Rule(values.Section):
    """The settings of the groups that match; the first rule that matches counts."""

    cluster: values.Pattern = "*"
    group: values.Pattern = "*"
    strategy: str | None = Field(None, min_length=1)
    message_queue_list: list[OwnedQueue] | None = None
    consumeridcs: list[str] | None = None
    virtual_node_count: int | None = Field(None, ge=0, le=100_000)
    broker_rooms: dict[str, str] | None = None
    client_rooms: dict[str, str] | None = None
    room_separator: str | None = Field(None, min_length=1)
    orderly: bool | None = None
    excluded: bool = False
    always_on: bool = False
    may_be_empty_seconds: float | None = Field(None, ge=60, le=604_800, allow_inf_nan=False)

    def params(self) -> dict[str, object]:
        """The strategy's parameters, in the form that ``strategy_named`` takes."""
        return strategy_params(self.strategy, self.model_dump(exclude_none=True))

    def rule(self) -> GroupRule:
        return GroupRule(
            cluster=self.cluster,
            group=self.group,
            strategy=self.strategy,
            params=self.params(),
            orderly=self.orderly,
            excluded=self.excluded,
            always_on=self.always_on,
            may_be_empty_ms=round((self.may_be_empty_seconds or 0) * 1_000),
        )


class Notify(values.Section):
    """The notifier; the alert rules are in their own file."""

    alerts: values.File = ""
    state: values.LocalFolder = "data/notifier"


class Web(values.Section):
    """The web pages: their address, and who may read and silence."""

    in_run: bool = False
    listen: values.Listen = "127.0.0.1:8400"
    hosts: list[str] = Field(default_factory=list)
    users: Annotated[values.File, values.SecretKind.FILE] = ""
    proxies: values.Networks = Field(default_factory=list)
    proxy_header: values.HeaderName = "X-Forwarded-User"
    may_silence: list[str] = Field(default_factory=list)
    tls_cert_file: values.File = ""
    tls_key_file: Annotated[values.File, values.SecretKind.FILE] = ""

    def address(self) -> tuple[str, int]:
        return values.host_and_port(self.listen)


class Metrics(values.Section):
    """The address of a process's metrics for Prometheus, and the most series of single groups."""

    listen: values.ListenIfAny = ""
    series_limit: int = Field(20_000, ge=0, le=1_000_000)

    def address(self) -> tuple[str, int] | None:
        """The host and port of ``listen``; None: nothing is served."""
        return values.host_and_port(self.listen) if self.listen else None


class Log(values.Section):
    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    format: Literal["text", "json"] = "text"


class Config(BaseModel):
    """The whole configuration, made by ``load_config``."""

    # Not strict: pydantic-settings would then turn texts like "yes" into booleans. The sections are strict.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    source: Source = Field(default_factory=Source)
    tables: Tables = Field(default_factory=Tables)
    job: Job = Field(default_factory=Job)
    spark: Spark = Field(default_factory=Spark)
    timing: TimingSection = Field(default_factory=TimingSection)
    collector: Collector = Field(default_factory=Collector)
    notify: Notify = Field(default_factory=Notify)
    web: Web = Field(default_factory=Web)
    metrics: Metrics = Field(default_factory=Metrics)
    groups: tuple[Rule, ...] = ()
    log: Log = Field(default_factory=Log)

    def settings(self) -> Settings:
        return Settings(
            timing=self.timing.timing(),
            groups=tuple(rule.rule() for rule in self.groups),
            trusted_sources=tuple(self.source.trusted_sources),
        )
