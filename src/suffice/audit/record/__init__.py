"""An audit on file: asked once, written to a folder, sealed, and checked by whoever holds it."""
