"""What other tools explain, as special cases of sufficiency (Sect. 4)."""
