"""The text of a notification: what is reported of an incident. Pure: a notice and a time in, text out."""
