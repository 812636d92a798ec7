# The names that the audit offers, each once; `as` is how a stub says "offered".
from .catalogue import Catalogue as Catalogue, read_catalogue as read_catalogue
from .cohort.ask import cohort as cohort
from .cohort.result import Cohort as Cohort
from .drift.compare import compare as compare
from .drift.distance import barcode_distance as barcode_distance
from .drift.result import Drift as Drift
from .global_factors import GlobalFactors as GlobalFactors, global_factors as global_factors
from .grading.grade import grade as grade
from .grading.many import Grades as Grades, ToolMarks as ToolMarks
from .grading.result import Grade as Grade
from .reasons import Reasons as Reasons, reasons as reasons
from .record.result import Record as Record
from .record.verification import Verification as Verification
from .record.verify import verify as verify
from .record.write import record as record
from .recourse import GlobalRecourse as GlobalRecourse, global_recourse as global_recourse
from .reliance import Reliance as Reliance, reliance as reliance
from .roles import Roles as Roles, roles as roles
from .stability.ask import stability as stability
from .stability.result import Stability as Stability
