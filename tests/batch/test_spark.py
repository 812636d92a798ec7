"""The function that explains a chunk, given to Spark: the rows it gives are those it gives here."""

import os
import sys

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from suffice import Explainer
from tests.batch.faulty_models import DATA

pytest.importorskip("pyarrow")
sql = pytest.importorskip(
    "pyspark.sql", reason="pyspark, of 450 MB and with a JVM, is not installed with the tests"
)

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    yield session
    session.stop()


def test_spark_gives_the_rows_that_are_given_here(spark):
    from pyspark.sql.pandas.types import from_arrow_schema

    from suffice.batch.arrow import ChunkToArrow

    labels = (DATA.sum(axis=1) > 16).map({True: "yes", False: "no"})
    explainer = Explainer(LogisticRegression().fit(DATA, labels), DATA, n_references=20)
    rows = DATA.iloc[:30].assign(number=range(100, 130))
    chunk = ChunkToArrow(explainer, {"tau": 0.8}, id_column="number")
    here = chunk(rows)
    schema = from_arrow_schema(here.schema)
    there = spark.createDataFrame(rows).repartition(3).mapInPandas(chunk.pandas, schema)
    found = there.toPandas().sort_values("id", ignore_index=True)
    # What depends on where and when a row is explained is no part of its answer.
    varying = {"row", "seconds", "created", "rows_predicted"}
    expected = here.to_pandas()
    for name in set(expected.columns) - varying:
        for one, other in zip(found[name], expected[name], strict=True):
            assert plain(one) == plain(other), name


def plain(value):
    """A cell as lists, dictionaries and values, whatever library made it."""
    if hasattr(value, "asDict"):
        value = value.asDict()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if value is pd.NaT or value != value else value
