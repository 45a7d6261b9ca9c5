"""The content of the pages as plain values. Pure: facts and a time in, a view out."""
