"""From values to verdicts. Pure: the values were read elsewhere."""
