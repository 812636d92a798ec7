/** The cheapest ways to another outcome, under constraints; each can be tried on by one click. */
import type { About, Option, Scalar, Sheet } from "./api";
import { number, question, type State } from "./state";
import { percent } from "../words";
import { figure, SheetView, useAnswer, Waiting } from "./parts";

interface Found {
  options: Option[];
  sheet: Sheet;
}

interface Props {
  about: About;
  state: State;
  go: (changes: Partial<State>) => void;
}

export function RecoursePanel({ about, state, go }: Props) {
  const { max_size: _size, tau: _tau, ...asked } = question(state) as Record<string, unknown>;
  const found = useAnswer<Found>("recourse", {
    ...asked,
    immutable: state.fixed,
    increasing: state.rising,
    decreasing: state.falling,
    max_cost: number(state.cost),
    max_size: state.changes || null,
    values: state.anyValues ? "grid" : "observed",
  });
  const rule = (name: string): string =>
    state.fixed.includes(name)
      ? "fixed"
      : state.rising.includes(name)
        ? "rising"
        : state.falling.includes(name)
          ? "falling"
          : "";
  const set = (name: string, chosen: string) => {
    const without = (names: string[]) => names.filter((n) => n !== name);
    const lists = {
      fixed: without(state.fixed),
      rising: without(state.rising),
      falling: without(state.falling),
    };
    if (chosen) lists[chosen as keyof typeof lists].push(name);
    go(lists);
  };
  const apply = (option: Option) => {
    const values: Record<string, Scalar> = { ...state.values };
    for (const [name, [, to]] of Object.entries(option.changes)) values[name] = to;
    go({ values, tab: "explanation" });
  };
  const kinds = new Map(about.columns.map((c) => [c.name, c.kind]));
  return (
    <div>
      <details open={state.fixed.length + state.rising.length + state.falling.length > 0}>
        <summary>What may change</summary>
        <div class="fields">
          {about.features.map((name) => (
            <label>
              <span title={name}>{name}</span>
              <select value={rule(name)} onChange={(e) => set(name, e.currentTarget.value)}>
                <option value="">may change</option>
                <option value="fixed">stays as it is</option>
                {kinds.get(name) === "number" && <option value="rising">may only go up</option>}
                {kinds.get(name) === "number" && <option value="falling">may only go down</option>}
              </select>
            </label>
          ))}
        </div>
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
      </details>
      <Waiting of={found}>
        {found.answer && found.answer.options.length > 0 ? (
          <>
            <div class="scroll">
              <table>
                <caption>{found.answer.sheet.title}</caption>
                <thead>
                  <tr>
                    <th scope="col">change</th>
                    <th scope="col" class="number">
                      cost
                    </th>
                    <th scope="col" class="number">
                      sufficiency
                    </th>
                    <th scope="col" class="number">
                      necessity
                    </th>
                    <th scope="col">
                      <span class="unseen">try</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {found.answer.options.map((option) => (
                    <tr>
                      <td>{option.says}</td>
                      <td class="number">{figure(option.cost)}</td>
                      <td class="number">{percent(option.sufficiency)}</td>
                      <td class="number">{percent(option.necessity)}</td>
                      <td>
                        <button type="button" onClick={() => apply(option)}>
                          Try it
                        </button>
                      </td>
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
