"""The notification for a person who was just woken: group and finding in the title, the most important lines first."""

from collections.abc import Iterator, Sequence
from itertools import starmap

from schemas.facts import Kind
from streaming.notices import fitting
from streaming.notices import page_parts as parts
from streaming.notices.affected import worst_first
from streaming.notices.commands import Command, inspect_command, next_command, silence_command
from streaming.notices.language import Language
from streaming.notices.languages import LANGUAGES
from streaming.notices.notice import MonitorTrouble, Notice, OpenAlert, Site, Text
from streaming.notices.trouble_text import trouble_sentences
from streaming.wording.lists import grouped
from streaming.wording.names import cut
from streaming.wording.times import clock

ALERTS_AT_MOST = 3
CAUSES_AT_MOST = 2
TITLE_WIDTH = 200
SAYS_ITS_CAUSE = Kind.INCONSISTENT_SUBSCRIPTION.value  # a title with the cause, too, would repeat it
NOWHERE = Site()
MORE_LEFT_OUT = "…"
NARROWER = (160, 100, 60)  # widths in cells, for channels with short messages


def write(
    notice: Notice,
    language: str,
    now: int,
    link: str | None = None,
    most_bytes: int | None = None,
    site: Site = NOWHERE,
) -> Text:
    """The title and body; ``now`` in epoch milliseconds. Raises ValueError for a language other than en and zh.

    No text in a name breaks a line or acts on a terminal; for a chat: :func:`escape`. ``most_bytes``: the limit of
    the channel for both in UTF-8. First lists get shorter, and count what they leave out; then lines do.
    """
    words = LANGUAGES.get(language)
    if words is None:
        raise ValueError(f"no language {language!r}: {' or '.join(LANGUAGES)}")
    page = _Page(notice, words, now, site)
    sections = [*page.sections(), *([fitting.uncut(words.link_line.format(link=link))] if link else [])]
    room = fitting.LINES_WHEN_OVER if page.is_over else fitting.LINES_AT_MOST
    title = cut(page.title(), TITLE_WIDTH)
    least = sum(section.least for section in sections)
    shapes = [(rows, fitting.WIDTH) for rows in range(room, min(room, least) - 1, -1)] + [
        (least, width) for width in NARROWER
    ]
    texts = (Text(title, "\n".join(fitting.fitted(sections, rows, width))) for rows, width in shapes)
    for text in texts:
        if most_bytes is None or len("\n".join(text).encode()) <= most_bytes:
            return text
    return _cut_to(text, most_bytes or 0)


def _cut_to(text: Text, most_bytes: int) -> Text:
    """The whole lines from the beginning that fit: the title, the group, the finding."""
    kept: list[str] = []
    left = most_bytes - len(text.title.encode()) - len(f"\n{MORE_LEFT_OUT}".encode())
    for row in text.body.split("\n"):
        left -= len(row.encode()) + 1
        if left < 0:
            return Text(text.title, "\n".join([*kept, MORE_LEFT_OUT]))
        kept.append(row)
    return text


class _Page:
    def __init__(self, notice: Notice, words: Language, now: int, site: Site) -> None:
        self.site = site
        self.notice = notice
        self.words = words
        self.now = now
        self.is_over = notice.status == "resolved"
        self.alerts = worst_first(notice.alerts)
        self.is_right_for_now = bool(self.alerts) and all(map(parts.is_right_for_now, self.alerts))
        ends = [alert.fact.resolved_ts for alert in notice.alerts if alert.fact.resolved_ts is not None]
        self.until = max(ends) if ends and self.is_over else now

    def sections(self) -> Iterator[fitting.Section]:
        if self.notice.trouble is not None:
            return self._trouble(self.notice.trouble)
        return self._storm() if len(self.notice.groups) > 1 else self._incident()

    def title(self) -> str:
        notice, words = self.notice, self.words
        mark = words.resolved if self.is_over else words.severities[notice.severity]
        mark = words.right_for_now if self.is_right_for_now else mark
        what = self._trouble_in_short(notice.trouble) if notice.trouble is not None else self._in_short()
        if len(notice.groups) > 1:
            return words.storm_title.format(
                mark=mark, cluster=parts.shown(notice.cluster), groups=words.groups(len(notice.groups)), what=what
            )
        if notice.groups:
            return words.title.format(
                mark=mark, group=parts.shown(notice.groups[0]), what=what, cluster=parts.shown(notice.cluster)
            )
        return words.cluster_title.format(mark=mark, cluster=self._cluster(), what=what)

    def _cluster(self) -> str:
        """The name of the cluster. A job that does not know a cluster yet speaks for all."""
        return parts.shown(self.notice.cluster) or self.words.any_cluster

    def _in_short(self) -> str:
        what = parts.what_is_so(self.alerts, self.words, self.now)
        is_said = any(alert.fact.kind == SAYS_ITS_CAUSE for alert in self.alerts)
        if self.is_over:
            return self.words.over.format(what=what, age=self.words.lasting(self.until - self.notice.since_ts))
        if self.notice.cause is not None and not is_said:
            what = self.words.comma.join(filter(None, [what, self.words.advice(parts.shown(self.notice.cause)).brief]))
        is_stale = bool(self.alerts) and all(alert.fact.stale for alert in self.alerts)
        return self.words.stale_title.format(what=what) if is_stale else what

    def _incident(self) -> Iterator[fitting.Section]:
        notice, words, now = self.notice, self.words, self.now
        group = parts.shown(notice.groups[0]) if notice.groups else ""
        yield fitting.line(words.group_line.format(group=group, cluster=parts.shown(notice.cluster), when=self._when()))
        alerts = self.alerts[:ALERTS_AT_MOST]
        for place, alert in enumerate(alerts):
            texts = [parts.alert_line(alert, words, now), *parts.queue_lines(alert, words, now)]
            at_least = 1 if place else 3
            yield fitting.lines(texts, words.more_queues)._replace(at_least=at_least, has_head=True)
        if len(self.alerts) > len(alerts):
            yield fitting.line(f"  {words.more_alerts(len(self.alerts) - len(alerts))}")
        yield from self._causes(self.alerts)
        waiting = parts.waiting_line(self.alerts, words, now)
        if waiting is not None:
            yield fitting.line(waiting)
        if self.is_over:
            return
        yield fitting.lines(parts.client_lines(self.alerts, words, now), words.more_clients)
        yield fitting.lines(parts.change_lines(self.alerts, words, now), words.more_changes)
        command = next_command(self.alerts[0], self.site) if self.alerts else inspect_command(notice.cluster, self.site)
        cause, kind = (self.alerts[0].fact.cause, self.alerts[0].fact.kind) if self.alerts else (None, "")
        yield from self._what_to_do(*parts.advice_on(notice.cause or cause, kind, words), command)

    def _when(self) -> str:
        if self.is_over:
            return parts.lasted(self.notice.since_ts, self.until, self.words, self.site.zone)
        return parts.since(self.notice.since_ts, self.words, self.now, self.site.zone)

    def _causes(self, alerts: Sequence[OpenAlert]) -> Iterator[fitting.Section]:
        """Each cause once, with the evidence of its worst alert."""
        first: dict[str | None, OpenAlert] = {}
        for alert in alerts:
            first.setdefault(alert.fact.cause, alert)
        if self.notice.cause is not None and self.notice.cause not in first:
            yield fitting.line(parts.cause_line(self.notice.cause, self.words, self.is_over))
        in_order = sorted(first.items(), key=lambda item: item[0] != self.notice.cause)
        for cause, alert in in_order[:CAUSES_AT_MOST]:
            if cause is not None:
                yield fitting.line(parts.cause_line(cause, self.words, self.is_over))
            if alert.fact.observed and not self.is_over:
                yield fitting.line(parts.evidence_line(alert, self.words, self.now))
            if self.is_over and alert.fact.reason in self.words.endings:
                yield fitting.line(self.words.endings[alert.fact.reason].format(kind=parts.shown(alert.fact.kind)))

    def _about(self) -> str | None:
        """The part of the documentation that explains it."""
        if self.notice.trouble is not None:
            return f"{self.site.docs}/notifications.md#when-evenkeel-itself-sees-nothing"
        of_one_group = self.alerts[:1] if len(self.notice.groups) == 1 else []
        names = [self.notice.cause, *(name for alert in of_one_group for name in (alert.fact.cause, alert.fact.kind))]
        return parts.about(names, self.words, self.site.docs)

    def _what_to_do(self, do: str, for_now: str, command: Command) -> Iterator[fitting.Section]:
        words = self.words
        if for_now:
            yield fitting.line(words.now_line.format(advice=for_now))
        if do:
            yield fitting.line(words.do_line.format(advice=do))
        typed = command.text
        if command.host is not None:
            typed = words.on_host.format(command=typed, host=parts.shown(command.host))
        yield fitting.uncut(words.next_line.format(command=typed))
        address = self._about()
        if address is not None:
            yield fitting.uncut(words.about_line.format(address=address))
        notice = self.notice
        group, kind = notice.groups[0] if len(notice.groups) == 1 else "", notice.trouble.kind if notice.trouble else ""
        silence = silence_command(self.site, notice.cluster, group, kind)
        yield fitting.uncut(words.silence_line.format(command=silence))

    def _storm(self) -> Iterator[fitting.Section]:
        notice, words = self.notice, self.words
        groups = words.groups(len(notice.groups))
        yield fitting.line(
            words.cluster_line.format(cluster=parts.shown(notice.cluster), groups=groups, when=self._when())
        )
        if notice.cause is not None:
            yield fitting.line(parts.cause_line(notice.cause, words, self.is_over))
        by_group = grouped(self.alerts, lambda alert: alert.group)  # that of the worst alert first
        by_group |= {group: [] for group in notice.groups if group not in by_group}
        yield fitting.lines(starmap(self._of_group, by_group.items()), words.more_groups)
        if self.is_over:
            return
        yield fitting.lines(parts.change_lines(self.alerts, words, self.now), words.more_changes)
        yield from self._what_to_do(words.storm_do, "", inspect_command(notice.cluster, self.site))

    def _of_group(self, group: str, alerts: Sequence[OpenAlert]) -> str:
        causes = dict.fromkeys(parts.shown(alert.fact.cause) for alert in alerts if alert.fact.cause)
        because = self.words.because.format(causes=", ".join(causes)) if causes else ""
        what = parts.what_is_so(alerts, self.words, self.now)
        return self.words.group_in_storm.format(group=parts.shown(group), what=what) + because

    def _trouble_in_short(self, trouble: MonitorTrouble) -> str:
        said = self.words.trouble(trouble.kind)
        if self.is_over:
            return said.over.format(age=self.words.lasting(self.now - trouble.since_ts))
        return said.title.format(since=clock(trouble.since_ts, self.now))

    def _trouble(self, trouble: MonitorTrouble) -> Iterator[fitting.Section]:
        words, said = self.words, self.words.trouble(trouble.kind)
        cluster, group, when = self._cluster(), parts.shown(trouble.group), self._when()
        whose = words.group_line.format(group=group, cluster=cluster, when=when) if group else None
        yield fitting.line(whose or words.cluster_only.format(cluster=cluster, when=when))
        for sentence in list(trouble_sentences(trouble, words, self.now))[: 1 if self.is_over else None]:
            yield fitting.line(sentence)
        if self.is_over:
            return
        yield fitting.line(said.meaning)
        for check in words.checks.get(trouble.why, said.checks):
            yield fitting.line(words.check_line.format(what=check))
        if trouble.kind == "test":
            return
        yield from self._what_to_do("", "", inspect_command(trouble.cluster, self.site, trouble.group))
