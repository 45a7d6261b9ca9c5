"""Why evenkeel does not judge a group or a topic, in words."""

EXCLUDED = {
    "CONFIGURED": "a rule of the configuration leaves the group out",
    "POP": "messages are handed out by the broker (pop), not by queues",
    "BROKER_ALLOCATED": "a member has clientRebalance=false: the broker shares out the queues",
    "LITE_ASSIGN": "a pull consumer takes what it is assigned by hand",
    "PROXY_CLIENT": "a gRPC client: its proxy shares out the queues",
    "STATIC_TOPIC": "a static topic, whose queues are only mapped to brokers",
    "NOT_SUBSCRIBED": "every member has said what it subscribes to, and none to this topic",
}


def why_excluded(reason: str | None) -> str:
    """Of a named reason; one of another version has no words."""
    return EXCLUDED.get(reason or "", "they are not evenkeel's to judge")
