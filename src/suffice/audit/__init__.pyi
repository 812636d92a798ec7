# The names that the audit offers, each once; `as` is how a stub says "offered".
from .catalogue import Catalogue as Catalogue, read_catalogue as read_catalogue
from .cohort import Cohort as Cohort, cohort as cohort
from .comparing import compare as compare
from .distance import barcode_distance as barcode_distance
from .drift import Drift as Drift
from .global_factors import GlobalFactors as GlobalFactors, global_factors as global_factors
from .grading.grade import grade as grade
from .grading.many import Grades as Grades, ToolMarks as ToolMarks
from .grading.result import Grade as Grade
from .reasons import Reasons as Reasons, reasons as reasons
from .record import record as record
from .recorded import Record as Record
from .recourse import GlobalRecourse as GlobalRecourse, global_recourse as global_recourse
from .reliance import Reliance as Reliance, reliance as reliance
from .retrained import stability as stability
from .roles import Roles as Roles, roles as roles
from .stable import Stability as Stability
from .verification import Verification as Verification
from .verify import verify as verify
