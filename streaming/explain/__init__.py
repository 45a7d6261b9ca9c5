"""``evenkeel explain``: what was known of a group at a time, and why it was alerted or not, from the tables alone."""
