# Lazy exports of suffice.audit; `X as X` is how a stub marks a re-export.
from .catalogue import Catalogue as Catalogue, read_catalogue as read_catalogue
from .cohort import Cohort as Cohort, cohort as cohort
from .compare import compare as compare
from .decision_drift import barcode_distance as barcode_distance
from .drift import Drift as Drift
from .global_factors import GlobalFactors as GlobalFactors, global_factors as global_factors
from .global_recourse import global_recourse as global_recourse
from .global_recourse_result import GlobalRecourse as GlobalRecourse
from .grade import grade as grade
from .grade_result import Grade as Grade
from .reasons import Reasons as Reasons, reasons as reasons
from .record_result import Record as Record
from .record_writer import record as record
from .reliance import Reliance as Reliance, reliance as reliance
from .roles import Roles as Roles, roles as roles
from .stability import stability as stability
from .stability_result import Stability as Stability
from .tool_grades import Grades as Grades, ToolMarks as ToolMarks
from .verify import Verification as Verification, verify as verify
