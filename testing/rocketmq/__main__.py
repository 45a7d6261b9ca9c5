"""Fetch the jars of RocketMQ, its proxies and their clients now: no test's time limit has room for it."""

import sys

from streaming.errors import AwayError, SetupError
from testing.rocketmq.jars import NEWEST, OLD_LINE, grpc_client_jars, proxy_jars, rocketmq_jars

try:
    for version in (NEWEST, OLD_LINE):
        rocketmq_jars(version)
    proxy_jars()
    grpc_client_jars()
except (AwayError, SetupError) as error:
    sys.exit(str(error))
