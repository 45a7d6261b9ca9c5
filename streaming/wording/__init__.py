"""Names, numbers and tables as people read them. Pure, and nothing that a name holds may act where it is shown."""
