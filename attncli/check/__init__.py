"""Numbers that somebody has against the numbers that the problem has."""
