# The names that the audit offers, each once; `as` is how a stub says "offered".
from .cohort import Cohort as Cohort, cohort as cohort
from .global_factors import GlobalFactors as GlobalFactors, global_factors as global_factors
from .reliance import Reliance as Reliance, reliance as reliance
from .roles import Roles as Roles, roles as roles
