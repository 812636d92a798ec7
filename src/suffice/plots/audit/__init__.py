"""Figures of audits: a file for each result."""
