"""Other notions said in the framework's own terms (Sect. 4): a file per proposition."""
