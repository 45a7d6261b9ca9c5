"""What a page shows, as plain values. Pure: facts and a time in, a view out."""
