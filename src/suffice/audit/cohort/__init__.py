"""Many decisions together: what suffices for them, who is brittle, where groups differ."""
