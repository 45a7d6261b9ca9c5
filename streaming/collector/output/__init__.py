"""Where events and answers go: Kafka, a file of events, a recording. None of them ever holds the probing up."""
