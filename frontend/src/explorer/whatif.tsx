/** The values of one row, which can be changed: what would the model predict then? */
import { modelFacts, type About, type ColumnFacts, type Scalar } from "./api";
import { number, type State } from "./state";
import { brief } from "../words";
import { shown } from "./parts";

/** Note on a value that the data does not have; "" for any other. */
export function outsideData(column: ColumnFacts, value: Scalar): string {
  if (value === null) return column.missing ? "" : "never missing in the data";
  const { lowest, highest } = column;
  if (typeof value === "number" && lowest !== null && highest !== null && (value < lowest || value > highest))
    return `outside the data: ${brief(lowest)} to ${brief(highest)}`;
  if (column.values && column.kind === "text" && !column.values.includes(value)) return "not in the data";
  return "";
}

interface Props {
  about: About;
  state: State;
  own: Record<string, Scalar>;
  go: (changes: Partial<State>) => void;
}

export function WhatIf({ about, state, own, go }: Props) {
  const changed = Object.keys(state.values);
  const set = (name: string, value: Scalar) => {
    const values = { ...state.values };
    if (value === own[name]) delete values[name];
    else values[name] = value;
    go({ values });
  };
  return (
    <form class="whatif" onSubmit={(e) => e.preventDefault()} aria-label="Values">
      <p>
        {changed.length
          ? `${changed.length} changed: the answers below are about these values.`
          : "Change a value to see what the model would predict then."}{" "}
        {changed.length > 0 && (
          <button type="button" onClick={() => go({ values: {} })}>
            Undo all changes
          </button>
        )}
      </p>
      <div class="fields">
        {about.columns
          .filter((c) => modelFacts(about, state.model).features.includes(c.name))
          .map((column) => {
            const changed = column.name in state.values;
            const value = changed ? state.values[column.name]! : own[column.name]!;
            const outside = outsideData(column, value);
            return (
              <label class={`${changed ? "changed" : ""} ${outside && "outside"}`}>
                <span title={column.name}>{column.name}</span>
                <Field column={column} value={value} set={(value) => set(column.name, value)} />
                {changed && <small>was {shown(own[column.name]!)}</small>}
                {outside && <small class="warn">{outside}</small>}
              </label>
            );
          })}
      </div>
    </form>
  );
}

interface FieldProps {
  column: ColumnFacts;
  value: Scalar;
  set: (value: Scalar) => void;
}

function Field({ column, value, set }: FieldProps) {
  if (column.values && column.kind !== "number") {
    const choices = [...column.values];
    if (column.missing || value === null) choices.push(null);
    if (!choices.some((v) => v === value)) choices.push(value);
    return (
      <select
        value={String(choices.findIndex((v) => v === value))}
        onChange={(e) => set(choices[Number(e.currentTarget.value)]!)}
      >
        {choices.map((v, i) => (
          <option value={String(i)}>{shown(v)}</option>
        ))}
      </select>
    );
  }
  const text = value === null ? "" : String(value);
  const hint = value === null ? "missing" : "";
  if (column.kind !== "number")
    return (
      <input
        value={text}
        placeholder={hint}
        onChange={(e) => set(e.currentTarget.value === "" ? null : e.currentTarget.value)}
      />
    );
  return (
    <input
      type="number"
      step={column.whole ? 1 : "any"}
      value={text}
      placeholder={hint}
      onChange={(e) => set(number(e.currentTarget.value))}
    />
  );
}
