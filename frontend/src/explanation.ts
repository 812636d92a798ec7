/** An explanation, read from the page: names and sentences, and counts to compute from. */

import {
  type Adjustment,
  type Bar,
  barsOf,
  chanceOf,
  climb,
  type Counts,
  dense,
  familyOf,
  type Level,
  levelOf,
  type Mass,
  massOf,
  mirrored,
  weightsOf,
} from "./arithmetic";

/** The JSON that `suffice.report.page_data` writes. */
export interface Words {
  question: string;
  feature: string;
  features: [name: string, value: string, full: string][];
  conditions: string[];
  n: number;
  tau: number;
  alpha: number | null;
  adjust: Adjustment;
  counted: boolean;
  takes_over: boolean;
  one_reference: boolean;
  scope_phrase?: string;
  views: ViewWords[];
}

export interface ViewWords {
  name: "keep" | "flip";
  outcome: string;
  does: string;
  order: number[];
  complete: boolean;
  by_construction?: string;
  all_suffice?: boolean;
  minimality?: string;
  none_reached?: string;
  moves?: string[];
  changes?: [members: number[], moves: number[], cost: number][];
  bars?: [number[], number, number, (number | null)?, (number | null)?, string?][];
  mass?: [number, number][];
  chance?: [number, number][];
  tests?: number;
  necessity?: string;
  fixed_tau_reason?: string;
  /** Did the search decide sets at τ only? */
  only_at_tau?: boolean;
  /** How many sets there are at τ, if the page has only the smallest of them. */
  n_sets?: number;
  /** Then the features in half of all those sets or more, and in how many each is. */
  common?: [feature: number, sets: number][];
}

/** The part of the JSON of `to_json` that this script reads. */
export interface Stored {
  content: {
    hits: number[][];
    flip_hits: number[][] | null;
    max_size: number | null;
    size_weights: number[] | null;
    subject: { kind: string; text?: string; spans?: [number, number][] } | null;
  };
}

/** A set that is minimal at some threshold; where a search decided at one τ, its own thresholds. */
export interface KnownSet extends Bar {
  low?: number;
  high?: number;
  note?: string;
}

export interface Change {
  text: string;
  cost: number;
}

export interface View {
  words: ViewWords;
  sets: KnownSet[];
  mass: Mass;
  /** Of all hybrids, whatever their outcome. */
  chance: Mass;
  /** Null where not every set was counted. */
  counts: Counts | null;
  family: ReadonlyMap<number, number>;
  changes: ReadonlyMap<string, Change>;
  /** May the threshold be moved? */
  movable: boolean;
}

export interface Explained {
  words: Words;
  views: View[];
  /** The text that was explained, by its characters, and where its features are. */
  text: { characters: string[]; spans: [number, number][] } | null;
}

export const keyOf = (members: readonly number[]): string => members.join();

export function read(words: Words, stored: Stored | null): Explained {
  const subject = stored?.content.subject;
  const text =
    subject?.text !== undefined && subject.spans
      ? { characters: [...subject.text], spans: subject.spans }
      : null;
  return { words, views: words.views.map((view) => readView(words, view, stored)), text };
}

function readView(words: Words, view: ViewWords, stored: Stored | null): View {
  const changes = new Map(
    (view.changes ?? []).map(([members, moves, cost]) => {
      const text = moves.map((move) => view.moves![move]!).join(", ");
      return [keyOf(members), { text, cost }] as const;
    }),
  );
  if (words.counted && stored) {
    const counts = countsOf(words, view.name, stored);
    const ladder = climb(counts);
    return {
      words: view,
      sets: barsOf(counts, ladder),
      mass: massOf(counts, ladder),
      chance: chanceOf(counts, ladder),
      counts,
      family: familyOf(counts),
      changes,
      movable: !words.one_reference,
    };
  }
  const sets = (view.bars ?? []).map(([members, hits, below, low, high, note]) => ({
    members,
    hits,
    below,
    ...(low != null && high != null ? { low, high } : {}),
    ...(note ? { note } : {}),
  }));
  return {
    words: view,
    sets: sets.sort(smallerFirst),
    mass: view.mass ?? [],
    chance: view.chance ?? [],
    counts: null,
    family: new Map([[0, view.tests ?? 1]]),
    changes,
    movable: !view.fixed_tau_reason && !words.one_reference,
  };
}

function countsOf(words: Words, name: "keep" | "flip", { content }: Stored): Counts {
  const d = words.features.length;
  const levels = name === "flip" && content.flip_hits ? content.flip_hits : content.hits;
  const held: Counts = {
    d,
    n: words.n,
    hits: dense(levels, d),
    largest: Math.min(content.max_size ?? d, d),
    weights: weightsOf(d, content.size_weights),
  };
  return name === "keep" ? held : mirrored(held);
}

/** Compare sets as Python's `factors` are ordered: smaller first, then by hits, then by features. */
export function smallerFirst(a: KnownSet, b: KnownSet): number {
  return a.members.length - b.members.length || b.hits - a.hits || byFeatures(a, b);
}

/** Compare sets of one size by their bit masks. */
export function byFeatures(a: KnownSet, b: KnownSet): number {
  for (let i = a.members.length - 1; i >= 0; i--) {
    if (a.members[i] !== b.members[i]) return (a.members[i] ?? -1) - (b.members[i] ?? -1);
  }
  return 0;
}

/** A set with the thresholds (low, high] at which it is minimal under the test in force. */
export interface Ranged {
  set: KnownSet;
  low: number;
  high: number;
}

export const levelFor = (view: View, n: number, alpha: number | null, adjust: Adjustment): Level =>
  levelOf(n, alpha, alpha === null ? "none" : adjust, view.family);

/** The sets that are minimal at some threshold under a test. */
export function ranged(view: View, level: Level): Ranged[] {
  return view.sets
    .map((set) => ({ set, low: set.low ?? level(set.below), high: set.high ?? level(set.hits) }))
    .filter(({ low, high }) => low < high);
}

export const isAt = (tau: number, { low, high }: Ranged): boolean => low < tau && tau <= high;

const OFFERED = 80;

/** Return the features offered as buttons: all, or of very many those that some set names. */
export function offeredFeatures({ words, views }: Explained): number[] {
  const all = words.features.map((_, feature) => feature);
  if (all.length <= OFFERED) return all;
  const named = new Set(views.flatMap((view) => view.sets.flatMap((set) => set.members)));
  return all.filter((feature) => named.has(feature)).slice(0, OFFERED);
}
