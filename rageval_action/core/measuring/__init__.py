"""From rankings and judgments to scores, slices, causes of misses and a record."""
