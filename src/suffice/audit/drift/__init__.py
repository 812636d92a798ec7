"""The same rows, explained twice: what of the outcomes, sets, reasons and ways out changed."""
