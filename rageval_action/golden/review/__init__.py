"""Reviewing a golden set by hand: a page on localhost, or the terminal."""
