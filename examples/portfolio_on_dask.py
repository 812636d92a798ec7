"""A portfolio of made-up loans, explained on a Dask cluster and asked about with DuckDB.

    python examples/portfolio_on_dask.py [FOLDER] [ROWS]

The cluster is one of this machine; `Client("tcp://scheduler:8786")` takes any other. Stop it with
Ctrl-C and start it again: it goes on where it was.
"""

import sys
from pathlib import Path

import duckdb
from distributed import Client, LocalCluster
from sklearn.ensemble import RandomForestClassifier

import suffice


def main(folder: str = "loans-explained", rows: str = "300") -> None:
    """Explain so many loans into a folder, and say what most often keeps a refusal."""
    X, y = suffice.datasets.loans(int(rows))
    X = X[["age", "income", "debt", "late payments"]]
    model = RandomForestClassifier(50, random_state=0).fit(X, y)
    explainer = suffice.Explainer(model, X, n_references=100)
    with LocalCluster(n_workers=2, threads_per_worker=1) as cluster, Client(cluster) as client:
        stored = explainer.explain_to(X, folder, client=client, resume=Path(folder).exists())
    print(stored)
    print(
        duckdb.sql(f"""
            SELECT features, count(*) AS loans FROM '{folder}/factors/*.parquet'
            WHERE view = 'keep' AND outcome = 'refused'
            GROUP BY features ORDER BY loans DESC, features LIMIT 5
        """)
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
