/** Another row or another model beside the row that is open: values, predictions, answers. */
import type { ComponentChildren } from "preact";
import { modelFacts, type About, type Predicted, type Scalar } from "./api";
import { predictionText, shown } from "./parts";
import type { State } from "./state";

interface Props {
  about: About;
  state: State;
  go: (changes: Partial<State>) => void;
}

export const isBeside = (state: State): boolean => state.otherRow >= 0 || state.otherModel !== "";

/** Form that chooses what stands beside the row. */
export function BesideForm({ about, state, go }: Props) {
  return (
    <details class="beside" open={isBeside(state)}>
      <summary>Beside another</summary>
      <form class="tools" onSubmit={(e) => e.preventDefault()}>
        <label>
          Row{" "}
          <input
            type="number"
            min={0}
            max={about.rows - 1}
            value={state.otherRow < 0 ? "" : state.otherRow}
            onChange={(e) =>
              go({ otherRow: e.currentTarget.value === "" ? -1 : Number(e.currentTarget.value) })
            }
          />
        </label>
        {about.models.length > 1 && (
          <label>
            Model{" "}
            <select
              value={state.otherModel}
              onChange={(e) => go({ otherModel: e.currentTarget.value })}
            >
              <option value="">the same</option>
              {about.models.map(({ name }) => (
                <option>{name}</option>
              ))}
            </select>
          </label>
        )}
        <button type="button" onClick={() => go({ otherRow: -1, otherModel: "" })}>
          Only this one
        </button>
      </form>
    </details>
  );
}

export const rowName = (state: State): string =>
  `Row ${state.row}${Object.keys(state.values).length > 0 || state.text ? ", changed" : ""}`;

export const otherName = (state: State): string =>
  (state.otherRow >= 0 ? `Row ${state.otherRow}` : "The same row") +
  (state.otherModel ? `, by ${state.otherModel}` : "");

interface ComparisonProps {
  about: About;
  state: State;
  own: Record<string, Scalar> | null;
  other: Record<string, Scalar> | null;
  predicted: Predicted | null;
  otherPredicted: Predicted | null;
}

/** Table of both rows' values; values that differ come first and are marked. */
export function Comparison({ about, state, own, other, predicted, otherPredicted }: ComparisonProps) {
  if (!own || !other || about.text !== null) return null;
  const features = modelFacts(about, state.model).features;
  const mine = { ...own, ...state.values };
  const differs = (name: string) => mine[name] !== other[name];
  const sorted = [...features.filter(differs), ...features.filter((name) => !differs(name))];
  const n = features.filter(differs).length;
  const mark = (differs: boolean, content: ComponentChildren) => (differs ? <mark>{content}</mark> : content);
  const sides = [predicted, otherPredicted].map((p) => (p ? predictionText(p) : "…"));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Values of both rows">
      <table class="comparison">
        <caption>
          <span>{n === 0 ? "The two have the same values." : `${n} of ${features.length} values differ.`}</span>
        </caption>
        <thead>
          <tr>
            <th scope="col">feature</th>
            <th scope="col">{rowName(state)}</th>
            <th scope="col">{otherName(state)}</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">predicted</th>
            {sides.map((text) => (
              <td>{mark(sides[0] !== sides[1], <b>{text}</b>)}</td>
            ))}
          </tr>
          {sorted.map((name) => (
            <tr class={differs(name) ? "differs" : ""}>
              <th scope="row">{name}</th>
              {[mine[name]!, other[name]!].map((value) => (
                <td>{mark(differs(name), shown(value))}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
