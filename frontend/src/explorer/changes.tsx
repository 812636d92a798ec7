/** Form of rules on changes: fixed features and directions, for the headline and for recourse. */
import { modelFacts, type About } from "./api";
import type { State } from "./state";

interface Props {
  about: About;
  state: State;
  go: (changes: Partial<State>) => void;
}

type Rule = "" | "fixed" | "rising" | "falling";

export function ChangeForm({ about, state, go }: Props) {
  const { features, fixed, increasing, decreasing } = modelFacts(about, state.model);
  const kinds = new Map(about.columns.map((c) => [c.name, c.kind]));
  const declared = (name: string): Rule =>
    name in fixed ? "fixed" : increasing.includes(name) ? "rising" : decreasing.includes(name) ? "falling" : "";
  const chosen = (name: string): Rule =>
    state.fixed.includes(name)
      ? "fixed"
      : state.rising.includes(name)
        ? "rising"
        : state.falling.includes(name)
          ? "falling"
          : "";
  const set = (name: string, rule: Rule) => {
    const lists = {
      fixed: state.fixed.filter((n) => n !== name),
      rising: state.rising.filter((n) => n !== name),
      falling: state.falling.filter((n) => n !== name),
    };
    if (rule) lists[rule].push(name);
    go(lists);
  };
  const free = features.filter((name) => !(name in fixed));
  const n = state.fixed.length + state.rising.length + state.falling.length;
  const rules = n + features.filter((name) => declared(name)).length;
  return (
    <details open={n > 0}>
      <summary>What may change{rules > 0 && ` (${rules} of ${features.length} restricted)`}</summary>
      <p class="note">The cheapest change and the recourse options keep to this.</p>
      <div class="fields">
        {features.map((name) => {
          const given = declared(name);
          // A declared direction can only be narrowed to "stays as it is".
          const orders = kinds.get(name) === "number" || kinds.get(name) === "boolean";
          return (
            <label title={fixed[name] ?? name}>
              <span>{name}</span>
              <select
                value={chosen(name) || given}
                disabled={given === "fixed"}
                onChange={(e) => set(name, (e.currentTarget.value === given ? "" : e.currentTarget.value) as Rule)}
              >
                {given === "" && <option value="">may change</option>}
                <option value="fixed">stays as it is</option>
                {orders && given !== "falling" && <option value="rising">may only go up</option>}
                {orders && given !== "rising" && <option value="falling">may only go down</option>}
              </select>
              {given && <small>declared by the server</small>}
            </label>
          );
        })}
      </div>
      <p class="tools">
        <button type="button" onClick={() => go({ fixed: free, rising: [], falling: [] })}>
          Nothing may change
        </button>
        <button type="button" disabled={!n} onClick={() => go({ fixed: [], rising: [], falling: [] })}>
          Undo these rules
        </button>
      </p>
    </details>
  );
}
