"""An explanation's faces: plain text, a terminal screen, a notebook cell, a page."""
