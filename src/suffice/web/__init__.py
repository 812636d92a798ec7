"""The explorer: a model and its data in the browser, by default for this machine only."""
