"""The notifier: the open alerts from facts, the open pages of each sink, and the threads that send them."""
