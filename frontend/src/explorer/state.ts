/**
 * What is on the screen, as the address says it: so that back, reload and a copied address work.
 *
 * Only what differs from the start is written. Plain words stay readable; lists are JSON.
 */
import type { Condition, Scalar } from "./api";

export type Tab = "explanation" | "recourse" | "shapley" | "rules" | "graph";

export interface State {
  first: number;
  sort: string;
  descending: boolean;
  where: Condition[];
  prediction: string;
  model: string;
  /** The row that is open; -1: none. */
  row: number;
  /** What-if: values in place of the row's own. */
  values: Record<string, Scalar>;
  text: string;
  tab: Tab;
  /** Where the reader has moved the threshold to; 0: the τ of the question. */
  tau: number;
  /** The threshold τ of the search. */
  settings: number;
  size: number;
  /** How sets are searched; "": as the server chooses. */
  search: string;
  /** Seconds that a question may take; "": as long as the server allows. */
  seconds: string;
  references: "opposite" | "all" | "where";
  /** What replaces words of a text. */
  mask: "auto" | "corpus";
  among: Condition[];
  count: number;
  outcome: string;
  least: string;
  most: string;
  groups: Record<string, string[]>;
  /** Whether correlated columns are joined, in place of `groups`. */
  autoGroups: boolean;
  causal: boolean;
  /** Beside: another row, or another model. */
  otherRow: number;
  otherModel: string;
  fixed: string[];
  rising: string[];
  falling: string[];
  cost: string;
  changes: number;
  anyValues: boolean;
}

export const START: State = {
  first: 0,
  sort: "",
  descending: false,
  where: [],
  prediction: "",
  model: "",
  row: -1,
  values: {},
  text: "",
  tab: "explanation",
  tau: 0,
  settings: 0.9,
  size: 0,
  search: "",
  seconds: "",
  references: "opposite",
  mask: "auto",
  among: [],
  count: 0,
  outcome: "",
  least: "",
  most: "",
  groups: {},
  autoGroups: false,
  causal: false,
  otherRow: -1,
  otherModel: "",
  fixed: [],
  rising: [],
  falling: [],
  cost: "",
  changes: 0,
  anyValues: false,
};

export function written(state: State): string {
  const found = new URLSearchParams();
  for (const key of Object.keys(START) as (keyof State)[]) {
    const value = state[key];
    if (JSON.stringify(value) === JSON.stringify(START[key])) continue;
    found.set(key, typeof value === "string" ? value : JSON.stringify(value));
  }
  const text = found.toString();
  return text ? `?${text}` : "";
}

/** Read a state from an address; fields that are not valid keep their start values. */
export function readState(address: string): State {
  const given = new URLSearchParams(address);
  const found: Record<string, unknown> = { ...START };
  for (const [key, value] of given) {
    if (!(key in START)) continue;
    const usual = START[key as keyof State];
    if (typeof usual === "string") {
      found[key] = value;
      continue;
    }
    try {
      const read: unknown = JSON.parse(value);
      const same = typeof read === typeof usual && Array.isArray(read) === Array.isArray(usual);
      if (same && read !== null) found[key] = read;
    } catch {
      // an address that was cut short
    }
  }
  return found as unknown as State;
}

export function contrast(state: State): Record<string, unknown> {
  return {
    references: state.references === "where" ? state.among : state.references,
    n_references: state.count || null,
    mask: state.mask,
    outcome: state.outcome || null,
    at_least: number(state.least),
    at_most: number(state.most),
    groups: state.autoGroups ? "auto" : state.groups,
    causal: state.causal,
  };
}

/** Rules on changes, besides those that the server declares. */
export const changeRules = (state: State) => ({
  immutable: state.fixed,
  increasing: state.rising,
  decreasing: state.falling,
});

export function input(state: State, row = state.row): Record<string, unknown> {
  if (row !== state.row) return { row };
  if (state.text) return { text: state.text };
  return { row: row < 0 ? null : row, values: state.values };
}

/** Fields that all questions share; `row` and `model` are given for the row beside. */
export const basics = (state: State, row = state.row, model = state.model) => ({
  input: input(state, row),
  model: model || null,
  contrast: contrast(state),
  time_limit: number(state.seconds),
});

/** Fields of a question for an explanation. */
export const question = (state: State, row = state.row, model = state.model) => ({
  ...basics(state, row, model),
  tau: state.settings,
  max_size: state.size || null,
  ...(state.search && { search: state.search }),
  ...(Object.values(changeRules(state)).some((names) => names.length) && { changes: changeRules(state) }),
});

export const number = (text: string): number | null =>
  text.trim() === "" || Number.isNaN(Number(text)) ? null : Number(text);
