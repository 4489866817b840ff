"""Paired comparison of scores: bootstrap, sign flips, readings."""
