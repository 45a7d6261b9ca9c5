"""From facts to people: the open alerts, the pages that each sink has open, and the threads that send them."""
