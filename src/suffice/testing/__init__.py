"""Checks that a custom reader, context, order, search or prover keeps its contract.

    from suffice.testing import check_context
    check_context(MyContext(), rows)

Each check raises an `AssertionError` that names the fault, or returns the number of comparisons
that it made. None needs a test framework. The package's own implementations pass them, too.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
