"""What the pages know now, read from the tables in a thread of its own."""
