"""Counts of work, which no clock changes."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from suffice.engines import work
from tests.engines.engine_cases import Case, linear_data

X, Y = linear_data()
FOREST = RandomForestClassifier(5, random_state=0).fit(X, Y)


def test_asking_takes_the_work_of_the_distinct_rows() -> None:
    rows = np.array([[0.0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [2, 0, 0, 1, 0], [0, 0, 0, 0, 0]])
    case = Case(FOREST, rows)
    assert work.max_distinct_rows(case.hybrids) == 32 + 4 + 1
    found = work.lattice_work(case.target.model, case.hybrids)
    assert found == work.CALL + 37 * (work.ROW + 5 * work.TREE) + 3 * 32 * work.LOOKUP


def test_no_more_rows_are_distinct_than_there_are_combinations_of_values() -> None:
    coarse = np.tile([[0.0, 1.0], [1.0, 0.0]], (20, 1))
    assert (
        work.max_distinct_rows(Case(LogisticRegression().fit(coarse, coarse[:, 0]), coarse).hybrids)
        == 4
    )


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (FOREST, 500),
        (make_pipeline(StandardScaler(), FOREST), 500 + 2 * work.ROW),
        (GradientBoostingClassifier(n_estimators=7), 700),
        (LogisticRegression(), X.shape[1]),
        (MLPClassifier((8,), max_iter=5), 8 * X.shape[1] + 8),
        (KNeighborsClassifier(), X.size),
        (SimpleNamespace(original=len), work.UNKNOWN_MODEL),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_row_takes_what_its_kind_of_model_needs(model: object, expected: float) -> None:
    fitted = model.fit(X, Y) if hasattr(model, "fit") else model
    assert work.row_work(fitted) == work.ROW + expected


def test_a_kernel_machine_takes_its_support_vectors() -> None:
    fitted = SVC().fit(X, Y)
    assert work.row_work(fitted) == work.ROW + fitted.support_vectors_.size


def test_networks_are_counted_by_their_weights() -> None:
    torch = pytest.importorskip("torch")
    dense = torch.nn.Linear(100, 10)
    kernel = torch.nn.Conv2d(3, 8, 5)
    products = work.NETWORK_PRODUCT * (100 * 10 + 10)
    assert work.row_work(dense) == work.ROW + work.NETWORK_ROW + products
    maps = 3 * 8 * 25 * work.CONVOLUTION_POSITIONS + 8
    assert work.row_work(kernel) == work.ROW + work.NETWORK_ROW + work.NETWORK_PRODUCT * maps
    images = SimpleNamespace(original=SimpleNamespace(of_images=kernel))
    assert work.row_work(images) == work.IMAGE_ROW + work.row_work(kernel) - work.ROW
    pipeline = SimpleNamespace(of_texts=SimpleNamespace(model=dense))
    tokens = work.TOKENS * (work.NETWORK_ROW + products)
    assert work.row_work(SimpleNamespace(original=pipeline)) == work.TEXT_ROW + tokens


def test_seconds_are_for_display() -> None:
    assert work.estimate_seconds(2e9) == 2.0
