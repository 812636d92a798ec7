/** The rows of the data with their predictions: filtered, sorted, one page at a time. */
import { useEffect, useState } from "preact/hooks";
import { ask, faultText, modelFacts, type About, type Condition, type Page, type Test } from "./api";
import { number, type State } from "./state";
import { percent } from "../words";
import { figure, label, shown } from "./parts";

const PAGE = 50;
const TESTS: Test[] = ["is", "is not", "at least", "at most", "contains", "is missing"];

interface Props {
  about: About;
  state: State;
  go: (changes: Partial<State>) => void;
}

export function Rows({ about, state, go }: Props) {
  const [page, setPage] = useState<Page | null>(null);
  const [error, setError] = useState("");
  const settings = {
    first: state.first,
    count: PAGE,
    sort: state.sort || null,
    descending: state.descending,
    where: state.where,
    prediction: state.prediction || null,
    model: state.model || null,
  };
  useEffect(() => {
    const own = new AbortController();
    setPage(null);
    setError("");
    ask<Page>("rows", settings, own.signal)
      .then(setPage)
      .catch((fault: unknown) => {
        if (own.signal.aborted) return;
        setPage(null);
        setError(faultText(fault));
      });
    return () => own.abort();
  }, [JSON.stringify(settings)]);

  const { predictions } = modelFacts(about, state.model);
  const sorted = (name: string): "ascending" | "descending" | "none" =>
    state.sort !== name ? "none" : state.descending ? "descending" : "ascending";
  const sort = (name: string) =>
    go({ sort: name, descending: state.sort === name && !state.descending, first: 0 });
  const last = page ? Math.min(state.first + PAGE, page.total) : 0;
  const head = (name: string, words = name) => (
    <th scope="col" aria-sort={sorted(name)}>
      <button type="button" onClick={() => sort(name)} title={`Sort by ${words}`}>
        {words}
        <span aria-hidden="true">
          {{ ascending: " ▲", descending: " ▼", none: "" }[sorted(name)]}
        </span>
      </button>
    </th>
  );
  const scored = page?.scores ?? null;
  const asShares = scored !== null && scored.every((s) => s === null || (s >= 0 && s <= 1));
  return (
    <section aria-label="Rows">
      <div class="tools">
        {about.models.length > 1 && (
          <label>
            Model{" "}
            <select
              value={modelFacts(about, state.model).name}
              onChange={(e) => go({ model: e.currentTarget.value, prediction: "", first: 0 })}
            >
              {about.models.map(({ name }) => (
                <option>{name}</option>
              ))}
            </select>
          </label>
        )}
        {predictions.length > 0 && (
          <label>
            Predicted{" "}
            <select
              value={state.prediction}
              onChange={(e) => go({ prediction: e.currentTarget.value, first: 0 })}
            >
              <option value="">anything</option>
              {predictions.map((name) => (
                <option value={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        <Conditions
          about={about}
          given={state.where}
          label="Only rows where"
          change={(where) => go({ where, first: 0 })}
        />
      </div>
      {error && (
        <p class="fault" role="alert">
          {error}
        </p>
      )}
      {!page && !error && <p role="status">Reading rows …</p>}
      {page && (
        <>
          <p role="status">
            {page.total === 0
              ? "No row is like this. Take a condition away."
              : `Rows ${(state.first + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ` +
                `${page.total.toLocaleString("en")}. Open one to see why it was decided so.`}
          </p>
          <div class="scroll" tabIndex={0} role="region" aria-label="Table of rows">
            <table class="rows">
              <thead>
                <tr>
                  <th scope="col">row</th>
                  {head("prediction", "predicted")}
                  {scored && (
                    <th scope="col" class="number" title="The model's score of its prediction">
                      {asShares ? "probability" : "score"}
                    </th>
                  )}
                  {about.columns.map((column) => head(column.name))}
                </tr>
              </thead>
              <tbody>
                {page.numbers.map((n, i) => (
                  <tr onClick={() => open(n)}>
                    <th scope="row">
                      {/* For the keyboard: a click on it is a click on its row. */}
                      <button type="button" class="link">
                        {n}
                      </button>
                    </th>
                    <td>
                      <b>{label(page.predictions[i]!)}</b>
                    </td>
                    {scored && (
                      <td class="number" title={String(scored[i] ?? "none")}>
                        {scored[i] == null ? "–" : asShares ? percent(scored[i]) : figure(scored[i])}
                      </td>
                    )}
                    {page.values[i]!.map((cell, j) => (
                      <td
                        class={about.columns[j]!.kind === "number" ? "number" : ""}
                        title={typeof cell === "number" ? String(cell) : shown(cell)}
                      >
                        {shown(cell)}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <p class="pages">
            <button
              type="button"
              disabled={state.first === 0}
              onClick={() => go({ first: Math.max(0, state.first - PAGE) })}
            >
              Previous
            </button>{" "}
            <button
              type="button"
              disabled={last >= page.total}
              onClick={() => go({ first: state.first + PAGE })}
            >
              Next
            </button>
          </p>
        </>
      )}
    </section>
  );

  function open(n: number): void {
    // Who marks text in a row to copy it does not want to leave the table.
    if (String(getSelection() ?? "")) return;
    go({ row: n, values: {}, text: "", otherRow: -1 });
  }
}

interface ConditionsProps {
  about: About;
  given: Condition[];
  label: string;
  change: (given: Condition[]) => void;
}

const valueText = (c: Condition): string => (c.value === undefined ? "" : shown(c.value));

/** Conditions on columns, each a button that takes it away. */
export function Conditions({ about, given, label, change }: ConditionsProps) {
  const [column, setColumn] = useState(about.columns[0]!.name);
  const [test, setTest] = useState<Test>("is");
  const [value, setValue] = useState("");
  const facts = about.columns.find((c) => c.name === column)!;
  const add = (event: Event) => {
    event.preventDefault();
    const listed = facts.values?.find((v) => String(v) === value);
    const read = listed ?? (facts.kind === "number" ? number(value) : null) ?? value;
    change([...given, test === "is missing" ? { column, test } : { column, test, value: read }]);
    setValue("");
  };
  return (
    <form class="conditions" onSubmit={add}>
      <span>{label}</span>
      {given.map((c, i) => (
        <button
          type="button"
          class="chip"
          aria-label={`Take away: ${c.column} ${c.test} ${valueText(c)}`}
          onClick={() => change(given.filter((_, j) => j !== i))}
        >
          {c.column} {c.test} {valueText(c)}{" "}
          <span aria-hidden="true">×</span>
        </button>
      ))}
      <select
        aria-label="Column"
        value={column}
        onChange={(e) => {
          setColumn(e.currentTarget.value);
          setValue("");
        }}
      >
        {about.columns.map((c) => (
          <option>{c.name}</option>
        ))}
      </select>
      <select
        aria-label="Test"
        value={test}
        onChange={(e) => setTest(e.currentTarget.value as Test)}
      >
        {TESTS.map((t) => (
          <option>{t}</option>
        ))}
      </select>
      {test !== "is missing" &&
        (facts.values && (test === "is" || test === "is not") ? (
          <select aria-label="Value" value={value} onChange={(e) => setValue(e.currentTarget.value)}>
            <option value="">choose …</option>
            {facts.values.map((v) => (
              <option value={String(v)}>{shown(v)}</option>
            ))}
          </select>
        ) : (
          <input
            aria-label="Value"
            value={value}
            inputMode={facts.kind === "number" ? "decimal" : "text"}
            onInput={(e) => setValue(e.currentTarget.value)}
          />
        ))}
      <button type="submit" disabled={test !== "is missing" && value === ""}>
        Add
      </button>
    </form>
  );
}
