"""An explanation's faces: plain text, a terminal screen, a notebook cell, a page; and many in one.

`suffice.report(explanations, path)` is `suffice.report.batch_report.report`. This folder has the
same name, and takes the function's place once anything in it was loaded: so it can be called.
"""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *given: Any, **named: Any) -> str:
        from suffice.report.batch_report import report

        return report(*given, **named)


sys.modules[__name__].__class__ = _Callable
