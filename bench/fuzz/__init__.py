"""Records and answers that are damaged or absurd: each must end as an event, as a row of quarantine or as an error."""
