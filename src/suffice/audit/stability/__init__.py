"""The same rows under models fitted again: how many of them keep what one explanation says."""
