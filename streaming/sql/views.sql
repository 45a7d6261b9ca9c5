-- Views over evenkeel's tables, for Spark SQL, and for DuckDB with the macros of docs/tables.md.

-- The newest round that was judged in each cluster. is_stale: it is more than two minutes old, so what the tables hold may be over.
CREATE OR REPLACE TEMPORARY VIEW newest_rounds AS
SELECT cluster, timestamp_millis(max(round_ms)) AS as_of_time,
       coalesce(timestamp_millis(max(round_ms)) < now() - INTERVAL 2 MINUTES, true) AS is_stale
FROM (
  SELECT cluster, unix_millis(ts) - lag_ms AS round_ms FROM monitor_health
  UNION ALL
  SELECT cluster, unix_millis(ts) FROM group_status
) AS rounds
GROUP BY cluster;

-- Each interval in which a queue's finding, severity, cause and owners stayed the same. While it is open, to_time is null
-- and date is today.
CREATE OR REPLACE TEMPORARY VIEW queue_findings_all AS
SELECT cluster, consumer_group, topic, broker_name, queue_id, finding, severity, cause, expected_owners, actual_owners,
       from_time, to_time, date
FROM queue_findings
UNION ALL
SELECT cluster, consumer_group, topic, broker_name, queue_id, finding, severity, cause, expected_owners, actual_owners,
       from_time, NULL, current_date
FROM queue_assignments
WHERE present;

-- Each alert, from pending to resolved, as its newest row describes it. resolved_time is null while it is open.
CREATE OR REPLACE TEMPORARY VIEW alerts_all AS
SELECT *
FROM alerts
WHERE (fingerprint, seq) IN (SELECT fingerprint, max(seq) FROM alerts GROUP BY fingerprint, active_time);

-- The newest status of each group.
CREATE OR REPLACE TEMPORARY VIEW group_status_now AS
SELECT *
FROM group_status
WHERE (cluster, consumer_group, seq) IN (
  SELECT cluster, consumer_group, max(seq) FROM group_status GROUP BY cluster, consumer_group
);
