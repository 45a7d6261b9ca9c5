"""The language English."""

from streaming.notices.evidence_english import ENGLISH_EVIDENCE
from streaming.notices.language import Advice, Language, Noun, Trouble

_JOB = "the job: is evenkeel run alive, and what does its log say?"
_JOB_MACHINE = "the job's machine: is its CPU or disk busy with something else?"
_COLLECTOR = "the collector: is evenkeel collect alive, and what do its log and its /readyz say?"
_KAFKA = "Kafka: does it run, and does the job's machine reach it?"
_RECORDS = "Kafka: do records arrive in the events' topic?"
_PRODUCERS = "the table quarantine, reason contradicts: is each producer a collector of yours?"

ENGLISH = Language(
    findings_doc="findings.md",
    severities={"critical": "CRITICAL", "warning": "WARNING", "info": "INFO", "none": "INFO"},
    resolved="RESOLVED",
    kinds={
        "DUPLICATED": "{queues} consumed twice",
        "ORPHANED": "{queues} consumed by nobody",
        "STALLED": "{queues} stalled",
        "SLOW_CONSUMER": "{queues} consumed too slowly",
        "PHANTOM": "{queues} owned, but not in the route",
        "MISPLACED": "{queues} owned by the wrong client",
        "UNPOLLED": "{queues} polled by no client",
        "HEAD_BLOCKED": "{queues} blocked by a message that is not acknowledged",
        "UNREADABLE_QUEUES": "{queues} with messages that nobody can read",
        "OFFSETS_WENT_BACK": "{queues} consumed again from an older offset",
        "CONSUMED_AGAIN": "messages delivered again and again",
        "REVIVE_STUCK": "messages that were not acknowledged are not given out again in time",
        "INCONSISTENT_SUBSCRIPTION": "members subscribe to different things",
        "SHARED_CLIENT_ID": "processes take the same share of the queues",
        "MEMBER_LISTS_DIFFER": "members divide the queues by different member lists",
        "MEMBERS_SPLIT": "members split between brokers and proxies",
        "NO_MEMBERS": "no members left",
        "REBALANCE_STORM": "members come and go again and again",
    },
    causes={
        "SAME_CLIENT_ID": Advice(
            "same client id",
            "several instances use one client id: they take the same queues, and other queues have no owner",
            "give each instance its own instanceName (clients from 4.9 on have one), then restart it",
            "stop all but one of these instances: the remaining clients then share all queues",
        ),
        "STALE_CONNECTION": Advice(
            "dead connection",
            "a client id is listed twice: most likely a broker still lists a dead connection",
            "wait 130 s: a dead connection is gone by then; if the id is still listed twice, two instances use it",
        ),
        "SUBSCRIPTION_MISMATCH": Advice(
            "subscriptions differ",
            "members subscribe to different topics or filters, but each of them is given queues of all topics",
            "give the members that differ a group of their own: all members of a group must subscribe alike",
            "stop the members that differ, or roll back the deploy that brought them",
        ),
        "STRATEGY_MISMATCH": Advice(
            "mixed strategies",
            "members divide the queues by different rules",
            "configure the same allocate strategy in all members, and use one SDK in a group",
            "stop the members that differ, or roll back the deploy that brought them",
        ),
        "MESSAGE_MODEL_MISMATCH": Advice(
            "mixed message models",
            "a BROADCASTING client consumes every queue of a CLUSTERING group, and stores its offsets locally",
            "give the clients that differ a group of their own: all members of a group must use one message model",
            "stop the clients that differ, or roll back the deploy that brought them",
        ),
        "RESTART_LOOP": Advice(
            "clients restart again and again",
            "these clients restart before they have consumed anything from these queues",
            "find out why they exit: out of memory, a failing health check, an error at start",
            "roll back the deploy that caused it, or stop the restarts until the cause is known",
        ),
        "VIEW_DIVERGENCE": Advice(
            "brokers list different members",
            "the topic's brokers list different members, so clients compute different shares",
            "query each broker, and find the client that cannot reach one of them",
            "stop the client that some broker does not list: then the lists agree",
        ),
        "ROUTE_LAG": Advice(
            "old route",
            "the topic's route has changed, or name servers differ on it: members use different routes",
            "wait a minute; then check the name server that lags, or restart the client that still uses the old route",
        ),
        "CLIENT_STALLED": Advice(
            "client stuck",
            "the owner is still listed, but does not answer or pulls nothing",
            "take a thread dump, then stop or restart the client: the other members take over its queues",
        ),
        "MEMBER_GONE": Advice(
            "queues not taken over",
            "the last owner has left, and the remaining members have not taken over its queues",
            "take a thread dump of a member that should own them, look for RebalanceService, then restart that member",
        ),
        "LOCK_STUCK": Advice(
            "queue not locked",
            "the group consumes orderly, and the expected owner does not have the broker's lock of the queue",
            "wait 60 s: the lock of a client that is gone expires; if it does not, the broker's log names the client"
            " that has the lock",
        ),
        "ROOM_WITHOUT_CONSUMER": Advice(
            "room without consumer",
            "the strategy assigns queues by machine room, and this room has no consumer",
            "start consumers in that room, or add the room to the consumers' configuration (consumeridcs)",
        ),
        "CONFIG_MISSES_QUEUE": Advice(
            "queue not configured",
            "the strategy assigns queues by configuration, and no member's list contains these",
            "add the queues to a member's list: without that no member takes them over",
            "restart the client whose list contains them, or roll back the last change of the lists",
        ),
        "BROKER_REFUSES_GROUP": Advice(
            "the broker refuses the group",
            "the broker lets nobody of the group consume, so no client polls there; a restart of clients does not help",
            "compare the group on all brokers; unless this is on purpose, run mqadmin updateSubGroup -n NAMESRV"
            " -b BROKER_ADDRESS -g GROUP -s true with its other options as elsewhere (-o true if it is FIFO), or they"
            " get their defaults",
        ),
        "BROKER_NOT_REACHED": Advice(
            "the broker is not reached",
            "clients poll other brokers and not this one: most likely they, or their proxies, do not reach it",
            "look whether each proxy (remoting clients: each client) can reach the broker at its address in the route,"
            " and at the proxies' logs",
            "restart the clients one after the other: each then polls all of its brokers again",
        ),
        "PROXY_AWAY": Advice(
            "silent since a proxy was away",
            "the clients have not polled since a proxy stopped answering, and some SDKs do not come back by themselves",
            "restart these clients if they have been silent for ten minutes; look whether the proxy runs, and at the"
            " clients' logs",
            "restart the clients: they then connect to a proxy that answers",
        ),
        "NO_READ_PERM": Advice(
            "no read permission",
            "the topic has no read permission on the broker",
            "restore the read permission (mqadmin updateTopicPerm -p 6), unless it was removed on purpose; if"
            " brokers have"
            " different numbers of queues, use updateTopic -r -w -p: updateTopicPerm copies the first broker's number",
        ),
        "READ_LT_WRITE": Advice(
            "fewer read than write queues",
            "readQueueNums is smaller than writeQueueNums: messages in the queues beyond it cannot be read",
            "raise readQueueNums with mqadmin updateTopic (-r and -w together), unless the topic is being made smaller",
        ),
        "LEFT_ROUTE": Advice(
            "left the route with messages",
            "these queues have left the route, but still contain messages that the group has not consumed",
            "if the messages are needed, add the queues again (mqadmin updateTopic, or start the broker again) until"
            " they are consumed; else do nothing: this page is sent once, and the alert ends after an hour",
        ),
        "UNEXPLAINED": Advice(
            "cause unknown",
            "none of the known causes fits",
            "check the clients that the evidence names, then what changed before; a restarted member computes its share"
            " again",
            "restart the clients that the evidence names, or else one member after the other; or roll back the"
            " last deploy",
        ),
    },
    do={
        "SLOW_CONSUMER": "find out what the consumer's code waits for: the allocation of queues is right",
        "OFFSETS_WENT_BACK": "check that the consumers can process messages again; then compare consumerOffset.json of"
        " the broker's master and slaves, and what the broker's log says of its start or change of role",
        "UNPOLLED": "look whether the clients, or their proxies, can reach these brokers, and at the clients' logs",
        "HEAD_BLOCKED": "see in the clients' logs what the listener does with this message; if no client works on it,"
        " the answer to a poll was lost (rocketmq #10827), and the queue may be blocked for up to three hours",
        "CONSUMED_AGAIN": "see in the clients' logs whether the listener fails, or takes longer than messages are"
        " invisible to others; then mend it, or make that time longer",
        "REVIVE_STUCK": "look for reviveQueueId in the broker's pop.log, and whether its configuration has"
        " timerWheelEnable=true and reviveInterval=1000 (mqadmin getBrokerConfig)",
        "MEMBERS_SPLIT": "connect all members to proxies, or all of them to brokers",
        "NO_MEMBERS": "start the consumers; if the group is retired, run evenkeel forget, or the alert ends"
        " after an hour",
        "REBALANCE_STORM": "find out why these clients restart or disconnect: crashes, long GC, the network",
        "PHANTOM": "compare with the route, then restart the client that owns queues outside it",
    },
    now={
        "SLOW_CONSUMER": "roll back the consumer, if it was deployed shortly before",
        "OFFSETS_WENT_BACK": "if no message may be processed again, stop the consumers and set the offsets forward"
        " (mqadmin resetOffsetByTime)",
        "UNPOLLED": "restart the clients one after the other: each then polls all of its brokers again",
        "HEAD_BLOCKED": "restart the clients one after the other: a queue is free a minute after the client that has"
        " its first message has ended",
        "CONSUMED_AGAIN": "roll back the consumers, if they were deployed shortly before",
        "REVIVE_STUCK": "restart the broker: it then reads on from its last offset, and no message is lost",
        "MEMBERS_SPLIT": "stop the members of one side: the others then consume every queue once",
        "NO_MEMBERS": "roll back the last deploy, if its consumers do not start",
        "REBALANCE_STORM": "stop the client that comes and goes: the others then keep their queues",
    },
    changes={
        "joined": "{subject} joined",
        "left": "{subject} left",
        "route_changed": "the route of {subject} changed",
        "broker_lost": "broker {subject} stopped answering",
        "broker_returned": "broker {subject} came back",
    },
    troubles={
        "monitor_blind": Trouble(
            "evenkeel has seen nothing since {since} UTC",
            "evenkeel sees the cluster again, after {age}",
            "While this lasts, no alert of this cluster fires or resolves. No alert does not mean that all is well.",
            (_JOB, "the collector: is evenkeel collect alive, and does it reach the name servers?", _RECORDS),
        ),
        "monitor_late": Trouble(
            "evenkeel has lagged behind since {since} UTC",
            "evenkeel has caught up, after {age}",
            "Alerts wait until evenkeel has caught up; those that still fire then are sent. New faults are not"
            " seen yet.",
            (
                "the table monitor_health: lag_ms, batch_ms, events_per_s",
                _JOB_MACHINE,
                "its restarts: after an outage the job reads all records that have waited in Kafka",
            ),
        ),
        "monitor_contradicted": Trouble(
            "rounds have contradicted one another since {since} UTC",
            "rounds no longer contradict one another, after {age}",
            "evenkeel uses the rounds of one producer and refuses the others. If the used ones are wrong, so"
            " are alerts.",
            (
                "the collectors' machines: are their clocks right?",
                _PRODUCERS,
                "who may write to the events' topic, and source.trusted_sources, which may name the collectors",
            ),
        ),
        "group_blind": Trouble(
            "evenkeel has not seen this group since {since} UTC",
            "evenkeel sees this group again, after {age}",
            "Its events are refused. While this lasts the group is UNKNOWN: none of its alerts fires or resolves.",
            (
                "the table quarantine: the reason, and where in Kafka the records are",
                "the producer: is the collector as new as the job, and does anybody else write to the topic?",
            ),
        ),
    },
    test=Trouble(
        "this is a test page, nothing is wrong",
        "the test is over",
        "evenkeel notify --test sent it. Pages of real incidents come the same way.",
        (),
    ),
    units={"s": "s", "min": "min", "h": "h", "d": "d"},
    queues=Noun("{n} queue", "{n} queues"),
    messages=Noun("{n} message", "{n} messages"),
    records=Noun("{n} record", "{n} records"),
    groups=Noun("{n} group", "{n} groups"),
    instances=Noun("{n} instance", "{n} instances"),
    more_queues=Noun("... and {n} more line of queues", "... and {n} more lines of queues"),
    more_clients=Noun("... and {n} more client", "... and {n} more clients"),
    more_changes=Noun("... and {n} more change", "... and {n} more changes"),
    more_groups=Noun("... and {n} more group", "... and {n} more groups"),
    more_alerts=Noun("... and {n} more alert", "... and {n} more alerts"),
    more_names=Noun("and {n} more", "and {n} more"),
    any_cluster="any cluster: evenkeel knows of none yet",
    evidence=ENGLISH_EVIDENCE,
    unseen={
        "nothing_yet": "the job has reported nothing of this cluster yet",
        "facts_unreadable": "the notifier has failed to read the facts since {error_time}: {error}; the job"
        " itself may be well",
        "job_failed": "the job ended with an error at {error_time}: {error}",
        "job_silent": "the job has written nothing since {heard}: it does not run, is stuck or overloaded, or"
        " cannot write",
        "job_slow": "the job runs but is too slow: records still wait in Kafka",
        "kafka_silent": "the job runs, but Kafka does not answer it",
        "slow_or_kafka": "the job is too slow, or Kafka does not answer it: which of the two is not known",
        "nothing_sent": "the job keeps up, but nothing new arrives in Kafka: no collector runs, or it cannot"
        " reach Kafka",
        "none_of_it_sent": "the job keeps up and records arrive in Kafka, but none of them is a round of this cluster",
        "no_rounds": "the job runs but receives no rounds: either it is slow, or none are sent",
        "reads_old": "the job reads data that is {behind} old; alerts wait until it has caught up",
        "sent_late": "the job keeps up, but the newest round was {behind} old: it was sent late, or clocks differ",
        "times_ahead": "two producers send rounds of one group; times of one are {apart} ahead of the other's",
        "times_behind": "two producers send rounds of one group; times of one are {apart} behind the other's",
        "lists_contradict": "two producers send rounds of one group; their lists of one broker differ for {apart}",
        "events_refused": "none of its rounds can be used: {detail}",
    },
    seen={
        "newest_round": "seen: the newest round that it has read is of {newest_round}",
        "batch_ended": "seen: its last batch ended at {batch_ended} and took {took}",
        "working": "seen: at {heard} it had worked on the present batch for {working}",
        "unread": "seen: at {heard} {unread} waited for it in Kafka",
        "nothing_unread": "seen: at {heard} nothing waited for it in Kafka",
        "contradiction": "seen: group {of_group} is judged by rounds of {followed}; those of {source} are refused",
        "broker": "seen: the lists of broker {broker} differ",
        "quiet": "seen: the newest record came to Kafka at about {quiet}",
        "kafka_error": "seen: Kafka has not answered it since {kafka}: {kafka_error}",
        "kafka_never": "seen: Kafka has not answered it since it started: {kafka_error}",
        "kafka_answers": "seen: Kafka last answered it at {kafka}",
    },
    checks={
        "facts_unreadable": ("the storage of the tables: can the notifier's machine read it?",),
        "job_failed": ("the job's log; start evenkeel run again once the cause is mended",),
        "job_silent": (_JOB, "its machine, and the storage of the tables"),
        "job_slow": (_JOB_MACHINE, "the table monitor_health: batch_ms, working_ms, unread, events_per_s"),
        "kafka_silent": (_KAFKA,),
        "slow_or_kafka": (_JOB_MACHINE, _KAFKA),
        "nothing_sent": (_COLLECTOR,),
        "none_of_it_sent": (
            "the collector of this cluster: is it alive, and what do its log and its /readyz say?",
            "the cluster's name servers and brokers, as seen from the collector's machine",
        ),
        "no_rounds": (_COLLECTOR, _RECORDS, _JOB_MACHINE),
        "lists_contradict": ("the broker: do both collectors reach the same replica of it?", _PRODUCERS),
        "sent_late": (
            "the collector: collector_events_waiting of its metrics, and its log",
            "the clocks of the collector's and the job's machines",
        ),
    },
    comma=", ",
    semicolon="; ",
    title="[{mark}] {group}: {what} ({cluster})",
    storm_title="[{mark}] {cluster}: {groups} in trouble: {what}",
    cluster_title="[{mark}] {cluster}: {what}",
    over="{what}, over after {age}",
    stale_title="{what}, evidence lost",
    group_line="group {group}, cluster {cluster}; {when}",
    cluster_line="cluster {cluster}, {groups}; {when}",
    cluster_only="cluster {cluster}; {when}",
    since="since {since}, {age} ago",
    lasted="from {since} to {until}, {age}",
    alert_line="{kind}: {what}{topic}{stale}",
    of_topic=", topic {topic}",
    owned_by="  {queues} - owned by {owners}",
    owned_by_nobody="  {queues} - owned by nobody",
    of_no_client="  {queues} - consumed by POP: no client owns them",
    of_its_broker="  {queues} - the broker reads them itself",
    owner_not_known="  {queues} - no client has reported that it owns them",
    expected=", should be owned by {owners}",
    expected_not_known=", the expected owner is not known: {why}",
    not_known="not known: {why}",
    one_instance="one instance of {client}",
    expected_of_none={
        "SAME_CLIENT_ID": "a second instance, but it has the same client id and takes the first one's queues",
        "STALE_CONNECTION": "the second connection of a client id, which is most likely dead",
        "ROOM_WITHOUT_CONSUMER": "a consumer in the queue's room, where there is none",
        "CONFIG_MISSES_QUEUE": "a member whose configured list names it, of which there is none",
        "PHANTOM": "no client: the route does not have it",
        "": "no client: the strategy gives it to none",
    },
    nobody="nobody",
    cause_line="cause: {sentence} ({cause})",
    cause_was="cause was: {sentence} ({cause})",
    evidence_line="evidence ({time}): {evidence}",
    stale=" - EVIDENCE LOST since {since}, {age} ago: this is the last known state; the fault may be over",
    at_rest=" - right since {since}, {age} ago, but it has come back before: open until it has been right for an hour",
    lists_differ=" - right since {since}, {age} ago, but brokers list different members: open until they agree",
    right_for_now="RIGHT FOR NOW",
    right_since="{what} until {since}",
    waits={
        "time": " - pending: it fires at {until} at the earliest, after the clients concerned have reported again",
        "deploy": " - waiting for a rolling deploy: it fires at {until} at the latest, if the fault is still there",
    },
    deploy_goes_on=" - a rolling deploy has been running since {since} and may be the reason: only a warning"
    " until it ends",
    waiting_line="waiting at {time}: {messages}{oldest}",
    oldest=", the oldest since {since} ({age} by then)",
    client_line="client {client}: {details}",
    version="version {version}",
    listed="listed by {brokers}",
    subscribes="subscribes to {topics}",
    started="started {times}",
    answered="last answered {time}",
    change_line="changed: {time} {change}",
    endings={
        "gone": "{kind}: closed because no broker has listed a member for an hour; evenkeel has not seen that"
        " it is right",
        "forgotten": "{kind}: closed because an operator retired the group; evenkeel has not seen that it is right",
        "excluded": "{kind}: closed because evenkeel no longer judges it; evenkeel has not seen that it is right",
    },
    do_line="do: {advice}",
    now_line="for now: {advice}",
    storm_do="so many groups at once have a common cause: first check brokers, name servers, the network and deploys",
    next_line="next: {command}",
    on_host="{command}   (on {host})",
    check_line="check: {what}",
    silence_line="silence: {command}",
    about_line="about: {address}",
    link_line="page: {link}",
    group_in_storm="  {group}: {what}",
    because=" ({causes})",
)
