#!/usr/bin/env python3
"""Fetch the jars of Spark's connectors and of the loopback Kafka now, so that no later start waits for them."""

import sys
from concurrent.futures import ThreadPoolExecutor

from streaming.errors import AwayError, SetupError
from streaming.loopback.kafka import kafka_jars
from streaming.spark.packages import spark_jars

with ThreadPoolExecutor() as pool:
    fetches = [pool.submit(spark_jars), pool.submit(kafka_jars)]
try:
    for fetch in fetches:
        fetch.result()
except (AwayError, SetupError) as error:
    sys.exit(str(error))
