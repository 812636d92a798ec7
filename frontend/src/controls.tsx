/** Controls above the views: threshold, test, views shown, order, and filters by feature. */

import type { Adjustment } from "./arithmetic";
import type { Settings, Mark, Sort } from "./settings";
import { type Explained, offeredFeatures } from "./explanation";
import { brief } from "./words";

export type Change = (change: Partial<Settings>) => void;

interface Part {
  settings: Settings;
  change: Change;
}

export function Threshold({ settings, change }: Part) {
  const move = (event: Event) => {
    const tau = Number((event.currentTarget as HTMLInputElement).value);
    if (tau > 0 && tau <= 1) change({ tau });
  };
  return (
    <label class="threshold">
      <span>
        Threshold <i>τ</i>: how often a set must do it
      </span>
      <input type="range" class="tau" min="0.01" max="1" step="0.01" value={settings.tau} onInput={move}
        aria-valuetext={`${brief(settings.tau * 100)} percent`} />
      <input type="number" class="tau-number" min="0.001" max="1" step="any" value={brief(settings.tau)} onChange={move}
        aria-label="Threshold τ as a number" />
    </label>
  );
}

interface Options<Value extends string> {
  label: string;
  name: string;
  value: Value;
  options: readonly (readonly [Value, string])[];
  choose: (value: Value) => void;
}

export function Choice<Value extends string>({ label, name, value, options, choose }: Options<Value>) {
  return (
    <label class={`choice ${name}`}>
      <span>{label}</span>
      <select value={value} onChange={(event) => choose(event.currentTarget.value as Value)}>
        {options.map(([key, said]) => (
          <option value={key} selected={key === value}>{said}</option>
        ))}
      </select>
    </label>
  );
}

const LEVELS = [0.1, 0.05, 0.01, 0.001];

const ADJUSTMENTS: [Adjustment, string][] = [
  ["none", "one set at a time"],
  ["bonferroni", "all sets at once (Bonferroni)"],
  ["holm", "all sets at once (Holm)"],
  ["bh", "all sets at once (Benjamini–Hochberg)"],
];

/** Choice of the test that a set must pass. */
export function Test({ explained, settings, change }: Part & { explained: Explained }) {
  const own = explained.words.alpha;
  const levels = own === null || LEVELS.includes(own) ? LEVELS : [...LEVELS, own].sort((a, b) => b - a);
  const counted = explained.views.every((view) => view.counts);
  const adjustments = ADJUSTMENTS.filter(([name]) => counted || name === "none" || name === "bonferroni");
  return (
    <>
      <Choice
        label="How sure"
        name="alpha"
        value={settings.alpha === null ? "" : String(settings.alpha)}
        options={[["", "shares as they are"], ...levels.map((a) => [String(a), `${brief(100 - 100 * a)}% sure (α = ${a})`] as const)]}
        choose={(value) => change(value === "" ? { alpha: null, adjust: "none" } : { alpha: Number(value) })}
      />
      {settings.alpha !== null && (
        <Choice label="Sure of" name="adjust" value={settings.adjust} options={adjustments} choose={(adjust) => change({ adjust })} />
      )}
    </>
  );
}

export function Shown({ settings, change }: Part) {
  return (
    <Choice label="Show" name="show" value={settings.show}
      options={[["both", "keep and flip"], ["keep", "what keeps it"], ["flip", "what flips it"]]}
      choose={(show) => change({ show })} />
  );
}

const SORTS: [Sort, string][] = [
  ["smaller", "smaller sets first"],
  ["surer", "surest first"],
  ["cheaper", "cheapest change first"],
  ["longer", "longest range of τ first"],
];

export function Sorted({ explained, settings, change }: Part & { explained: Explained }) {
  const costs = explained.views.some((view) => view.changes.size) && !explained.text;
  const sorts = SORTS.filter(([sort]) => (costs || sort !== "cheaper") && (!explained.words.one_reference || sort === "smaller" || sort === "cheaper"));
  return <Choice label="Order" name="sort" value={settings.sort} options={sorts} choose={(sort) => change({ sort })} />;
}

export function nextMark(marks: ReadonlyMap<number, Mark>, feature: number): Map<number, Mark> {
  const next = new Map(marks);
  const now = marks.get(feature);
  if (now === undefined) next.set(feature, "required");
  else if (now === "required") next.set(feature, "excluded");
  else next.delete(feature);
  return next;
}

const SAYS = { required: "required", excluded: "excluded", either: "with or without" } as const;
const SIGNS = { required: "✓ ", excluded: "✕ ", either: "" } as const;

/** Filters: a button for each feature, which requires it, then excludes it, then does neither. */
export function Marks({ explained, settings, change }: Part & { explained: Explained }) {
  const { words } = explained;
  return (
    <fieldset class="marks">
      <legend>Only sets with, or without, a {words.feature}: press once to require it, twice to exclude it</legend>
      {offeredFeatures(explained).map((feature) => {
        const [name, , full] = words.features[feature]!;
        const state = settings.marks.get(feature) ?? "either";
        return (
          <button type="button" class={`chip mark ${state}`} title={full || undefined} aria-label={`${name}: ${SAYS[state]}`}
            onClick={() => change({ marks: nextMark(settings.marks, feature) })}>
            {SIGNS[state]}{name}
          </button>
        );
      })}
      {settings.marks.size > 0 && (
        <button type="button" class="plain clear" onClick={() => change({ marks: new Map() })}>clear</button>
      )}
    </fieldset>
  );
}
