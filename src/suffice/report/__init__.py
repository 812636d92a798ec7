"""An explanation's faces: plain text, a terminal screen, a notebook cell, a page; and many in one.

`suffice.report(explanations, path)` is `suffice.report.many.report`. This folder has the same name,
and takes the function's place in the package once anything in it was loaded: so it can be called.
"""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *given: Any, **named: Any) -> str:
        from suffice.report.many import report

        return report(*given, **named)


sys.modules[__name__].__class__ = _Callable
