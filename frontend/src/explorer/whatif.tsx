/** The values of one row, to be changed: what would the model say then? */
import type { About, ColumnFacts, Scalar } from "./api";
import { number, type State } from "./state";
import { shown } from "./parts";

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
          ? `${changed.length} changed: the answer is about these values.`
          : "Change a value to see what the model would say then."}{" "}
        {changed.length > 0 && (
          <button type="button" onClick={() => go({ values: {} })}>
            Back to the row's own
          </button>
        )}
      </p>
      <div class="fields">
        {about.columns
          .filter((c) => about.features.includes(c.name))
          .map((column) => (
            <label class={column.name in state.values ? "changed" : ""}>
              <span title={column.name}>{column.name}</span>
              <Field
                column={column}
                value={column.name in state.values ? state.values[column.name]! : own[column.name]!}
                set={(value) => set(column.name, value)}
              />
              {column.name in state.values && <small>was {shown(own[column.name]!)}</small>}
            </label>
          ))}
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
