"""Long runs that show what short ones cannot: `make soak`."""
