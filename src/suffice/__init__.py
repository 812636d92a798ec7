"""suffice: what is sufficient, and what is necessary, for a model's decision.

An implementation of LENS, *Local Explanations via Necessity and Sufficiency* (UAI 2021).
"""

import lazy_loader

__version__ = "0.5.0"

# The names are those of the stub beside this file. They load when first asked for: a command that
# only prints its options, or a program that needs one of them, is not kept waiting for the rest.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
