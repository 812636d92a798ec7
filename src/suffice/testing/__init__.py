"""Contracts: what every reader, context, order, search and figure must keep, put to the test.

    from suffice.testing import check_context
    check_context(MyContext(), rows)

Each check says in an `AssertionError` what is wrong, or gives the number of comparisons that it
made. They need no test framework. What CONTRIBUTING says in words is here in code; the package's
own implementations are held to it too.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
