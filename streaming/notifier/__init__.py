"""From facts to people: what stands, which pages each sink has open, and the threads that deliver them."""
