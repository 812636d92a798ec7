/** Form of a question: references, outcome, threshold, search, groups. */
import { useState } from "preact/hooks";
import { modelFacts, type About } from "./api";
import type { State } from "./state";
import { Conditions } from "./table";

interface Props {
  about: About;
  state: State;
  go: (changes: Partial<State>) => void;
}

/** Searches by the names of the API, which suggestions under an explanation use as well. */
const SEARCHES = [
  ["", "automatic"],
  ["exhaustive", "exhaustive: count every set"],
  ["bounds", "bounds: decide sets in bulk"],
  ["pruned", "pruned: few predictions for each set"],
  ["greedy", "greedy: look for larger sets"],
] as const;

export function ContrastForm({ about, state, go }: Props) {
  const text = about.text !== null;
  const model = modelFacts(about, state.model);
  return (
    <details class="contrast">
      <summary>References, outcome and search</summary>
      <form onSubmit={(e) => e.preventDefault()}>
        {!text && (
          <label>
            References{" "}
            <select
              value={state.references}
              onChange={(e) => go({ references: e.currentTarget.value as State["references"] })}
            >
              <option value="opposite">rows predicted otherwise</option>
              <option value="all">all rows</option>
              <option value="where">rows I describe</option>
            </select>
          </label>
        )}
        {text && (
          <label>
            Replace words by{" "}
            <select
              value={state.mask}
              onChange={(e) => go({ mask: e.currentTarget.value as State["mask"] })}
            >
              <option value="auto">a word that makes a contrast</option>
              <option value="corpus">words of the other texts</option>
            </select>
          </label>
        )}
        {state.references === "where" && (
          <Conditions
            about={about}
            given={state.among}
            label="References are rows where"
            change={(among) => go({ among })}
          />
        )}
        <label>
          {text ? "Replacements" : "References"}, at most{" "}
          <input
            type="number"
            min={1}
            step={1}
            value={state.count || about.n_references || ""}
            onChange={(e) => go({ count: Math.max(0, Number(e.currentTarget.value)) })}
          />
        </label>
        {model.numbers ? (
          <>
            <label>
              Outcome: at least{" "}
              <input
                type="number"
                step="any"
                value={state.least}
                onChange={(e) => go({ least: e.currentTarget.value, most: "" })}
              />
            </label>
            <label>
              or at most{" "}
              <input
                type="number"
                step="any"
                value={state.most}
                onChange={(e) => go({ most: e.currentTarget.value, least: "" })}
              />
            </label>
          </>
        ) : (
          <label>
            Outcome{" "}
            <select value={state.outcome} onChange={(e) => go({ outcome: e.currentTarget.value })}>
              <option value="">what is predicted</option>
              {model.predictions.map((name) => (
                <option value={name}>{name}, or not</option>
              ))}
            </select>
          </label>
        )}
        <label>
          Threshold τ{" "}
          <input
            type="number"
            min={0.01}
            max={1}
            step={0.01}
            value={state.settings}
            onChange={(e) => {
              const settings = Number(e.currentTarget.value);
              if (settings > 0 && settings <= 1) go({ settings, tau: 0 });
            }}
          />
        </label>
        <label>
          Size of sets, at most{" "}
          <input
            type="number"
            min={0}
            step={1}
            value={state.size || ""}
            placeholder="any"
            onChange={(e) => go({ size: Math.max(0, Number(e.currentTarget.value)) })}
          />
        </label>
        <label>
          Search{" "}
          <select value={state.search} onChange={(e) => go({ search: e.currentTarget.value })}>
            {SEARCHES.map(([value, words]) => (
              <option value={value}>{words}</option>
            ))}
          </select>
        </label>
        <label>
          Time limit{" "}
          <input
            type="number"
            min={1}
            max={60}
            step={1}
            value={state.seconds}
            placeholder="none"
            onChange={(e) => go({ seconds: e.currentTarget.value })}
          />{" "}
          s
        </label>
        {!text && <Groups about={about} state={state} go={go} />}
        {about.graph && (
          <label>
            <input
              type="checkbox"
              checked={state.causal}
              onChange={(e) => go({ causal: e.currentTarget.checked })}
            />{" "}
            Changes have their consequences (causal graph)
          </label>
        )}
      </form>
    </details>
  );
}

/** Columns that are held or replaced together. */
function Groups({ about, state, go }: Props) {
  const [name, setName] = useState("");
  const [columns, setColumns] = useState<string[]>([]);
  const taken = new Set(Object.values(state.groups).flat());
  const free = modelFacts(about, state.model).features.filter((f) => !taken.has(f));
  return (
    <fieldset>
      <legend>Columns that go together</legend>
      <label>
        <input
          type="checkbox"
          checked={state.autoGroups}
          onChange={(e) => go({ autoGroups: e.currentTarget.checked, groups: {} })}
        />{" "}
        Auto-join correlated columns
      </label>
      {Object.entries(state.groups).map(([group, members]) => (
        <button
          type="button"
          class="chip"
          aria-label={`Take away group ${group}`}
          onClick={() => {
            const groups = { ...state.groups };
            delete groups[group];
            go({ groups });
          }}
        >
          {group}: {members.join(", ")} <span aria-hidden="true">×</span>
        </button>
      ))}
      <input
        aria-label="Name of the group"
        placeholder="name"
        value={name}
        onInput={(e) => setName(e.currentTarget.value)}
      />
      <select
        multiple
        size={4}
        aria-label="Columns of the group"
        onChange={(e) => setColumns([...e.currentTarget.selectedOptions].map((o) => o.value))}
      >
        {free.map((f) => (
          <option selected={columns.includes(f)}>{f}</option>
        ))}
      </select>
      <button
        type="button"
        disabled={!name || columns.length < 2}
        onClick={() => {
          go({ groups: { ...state.groups, [name]: columns } });
          setName("");
          setColumns([]);
        }}
      >
        Join
      </button>
    </fieldset>
  );
}
