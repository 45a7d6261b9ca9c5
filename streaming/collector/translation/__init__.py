"""Answers of brokers, name servers and clients to evenkeel's events: pure, for the live collector and for replays."""
