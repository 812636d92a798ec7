"""What looks after the repository; nothing here is installed."""
