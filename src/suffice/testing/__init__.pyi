# The checks that are offered, each once; `as` is how a stub says "offered".
from .contexts import check_context as check_context
from .provers import check_prover as check_prover
from .readers import check_reader as check_reader
from .searches import check_order as check_order, check_search as check_search
