"""Many rows: a chunk at a time, on one machine or many, kept where other tools read them."""
