"""Audits of a model's decisions: roles, reliance, reasons, drift, grades of explainers, records.

Most functions take one explanation, several, or a stored batch (`suffice.load`), and do not call
the model; those that call or fit models say so.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
