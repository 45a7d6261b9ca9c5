"""What RocketMQ answers, and what it says about a consumer group. Only this package knows RocketMQ's own spelling."""
