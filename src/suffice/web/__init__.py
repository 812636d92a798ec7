"""The explorer: a model and its data in the browser, served to this machine alone."""
