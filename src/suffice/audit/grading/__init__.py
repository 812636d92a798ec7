"""Marks for what other tools say of a decision: their rankings, sets, rules and counterfactuals."""
