/** The cheapest changes to another outcome, under constraints; each can be tried by one click. */
import type { Option, Scalar, Sheet } from "./api";
import { basics, changeRules, number, type State } from "./state";
import { percent } from "../words";
import { figure, SheetView, useAnswer, Waiting } from "./parts";

interface Found {
  options: Option[];
  sheet: Sheet;
}

interface Props {
  state: State;
  go: (changes: Partial<State>) => void;
  row: number;
  model: string;
}

export function RecoursePanel({ state, go, row, model }: Props) {
  const found = useAnswer<Found>("recourse", {
    ...basics(state, row, model),
    changes: changeRules(state),
    max_cost: number(state.cost),
    max_size: state.changes || null,
    values: state.anyValues ? "grid" : "observed",
  });
  const apply = (option: Option) => {
    // An option of the row beside is tried on that row, which is opened for it.
    const values: Record<string, Scalar> = row === state.row ? { ...state.values } : {};
    for (const [name, [, to]] of Object.entries(option.changes)) values[name] = to;
    go({ values, row, tab: "explanation" });
  };
  return (
    <div>
        <p class="tools">
          <label>
            Cost at most{" "}
            <input
              type="number"
              min={0}
              step="any"
              value={state.cost}
              onChange={(e) => go({ cost: e.currentTarget.value })}
            />
          </label>
          <label>
            Features changed at most{" "}
            <input
              type="number"
              min={0}
              step={1}
              value={state.changes || ""}
              placeholder="any"
              onChange={(e) => go({ changes: Math.max(0, Number(e.currentTarget.value)) })}
            />
          </label>
          <label>
            <input
              type="checkbox"
              checked={state.anyValues}
              onChange={(e) => go({ anyValues: e.currentTarget.checked })}
            />{" "}
            any combination of values (slower)
          </label>
        </p>
      <Waiting of={found}>
        {found.answer && found.answer.options.length > 0 ? (
          <>
            <div class="scroll">
              <table>
                <caption><span>{found.answer.sheet.title}</span></caption>
                <thead>
                  <tr>
                    <th scope="col">
                      <span class="unseen">try</span>
                    </th>
                    <th scope="col">change</th>
                    <th scope="col" class="number">
                      cost
                    </th>
                    <th scope="col" class="number">
                      sufficiency
                    </th>
                    <th scope="col" class="number">
                      set necessity
                    </th>
                    <th scope="col" class="number">
                      by chance
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {found.answer.options.map((option) => (
                    <tr>
                      <td>
                        <button type="button" onClick={() => apply(option)}>
                          Try it
                        </button>
                      </td>
                      <td>{option.text}</td>
                      <td class="number">{figure(option.cost)}</td>
                      <td class="number">{percent(option.sufficiency)}</td>
                      <td class="number">{percent(option.necessity)}</td>
                      <td class="number">{percent(option.necessity_baseline)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            {found.answer.sheet.notes.map((line) => (
              <p class="note">{line}</p>
            ))}
          </>
        ) : (
          found.answer && <SheetView sheet={found.answer.sheet} />
        )}
      </Waiting>
    </div>
  );
}
