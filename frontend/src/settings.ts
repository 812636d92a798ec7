/** Settings of the reader (τ, test, filters, order), and the sets and the picture that they give. */

import { type Adjustment, clopperPearson, curveOf, type Level, necessityAt } from "./arithmetic";
import {
  byFeatures,
  type Explained,
  isAt,
  keyOf,
  levelFor,
  type Ranged,
  ranged,
  smallerFirst,
  type View,
} from "./explanation";
import type { Column, Picture } from "./picture";
import { brief, count, grouped } from "./words";

export type Mark = "required" | "excluded";
export type Sort = "smaller" | "surer" | "cheaper" | "longer";

export interface Settings {
  tau: number;
  alpha: number | null;
  adjust: Adjustment;
  show: "both" | "keep" | "flip";
  sort: Sort;
  /** By a feature's number: must sets have it, or must they not? */
  marks: ReadonlyMap<number, Mark>;
  /** The set that the reader tries. */
  picked: ReadonlySet<number>;
  /** How many sets are listed, and how many are drawn. */
  listed: number;
  drawn: number;
}

export const LISTED = 12;
export const ROWS = 16;
/** At most this many rows are sets that are minimal at other thresholds only. */
export const OTHERS = 8;
export const COLUMNS = 24;

export const firstAsked = ({ words }: Explained): Settings => ({
  tau: words.tau,
  alpha: words.alpha,
  adjust: words.adjust,
  show: "both",
  sort: "smaller",
  marks: new Map(),
  picked: new Set(),
  listed: LISTED,
  drawn: ROWS,
});

/** Facts of a view under a test that do not change with τ, computed once. */
interface Prepared {
  test: string;
  level: Level;
  sets: Ranged[];
  /** The same sets, the longest ranges first. */
  longest: Ranged[];
  curve: [number, number][];
  chanceCurve: [number, number][];
}

const known = new WeakMap<View, Prepared>();

function prepared({ words }: Explained, view: View, { alpha, adjust }: Settings): Prepared {
  const test = `${alpha} ${adjust}`;
  let found = known.get(view);
  if (found?.test !== test) {
    const level = levelFor(view, words.n, alpha, adjust);
    const sets = ranged(view, level);
    const longest = [...sets].sort((a, b) => longerFirst(a, b) || higherFirst(a, b));
    const curves = (view.movable ? [view.mass, view.chance] : [[], []]).map((mass) => curveOf(mass, level));
    found = { test, level, sets, longest, curve: curves[0]!, chanceCurve: curves[1]! };
    known.set(view, found);
  }
  return found;
}

/** One view's answer under the reader's settings. */
export interface Answer {
  view: View;
  curve: [number, number][];
  chanceCurve: [number, number][];
  /** How many sets are minimal at τ, how many of them the page has; those that fit the marks. */
  all: number;
  known: number;
  sets: Ranged[];
  /** Minimal at other thresholds only, the longest ranges first. */
  others: Ranged[];
  necessity: number | null;
  /** What chance gives. */
  baseline: number | null;
  interval: [number, number] | null;
}

export function answer(explained: Explained, view: View, settings: Settings): Answer {
  const { level, longest, curve, chanceCurve } = prepared(explained, view, settings);
  const tau = view.movable ? settings.tau : explained.words.tau;
  const sets: Ranged[] = [];
  const others: Ranged[] = [];
  let known = 0;
  for (const bar of longest) {
    const at = isAt(tau, bar);
    if (at) known++;
    if (fits(bar, settings)) (at ? sets : others).push(bar);
  }
  sets.sort(sorting(view, settings.sort));
  const necessity = necessityAt(view.mass, level, tau);
  const baseline = necessityAt(view.chance, level, tau);
  const estimated = necessity !== null && view.counts === null && !view.words.complete;
  const draws = view.mass.reduce((sum, [, weight]) => sum + weight, 0);
  const interval = estimated ? clopperPearson(Math.round(necessity * draws), draws) : null;
  const all = view.words.n_sets || known;
  return { view, curve, chanceCurve, all, known, sets, others, necessity, baseline, interval };
}

/** How many sets an answer is about: all at τ, or those in the page that fit the marks. */
export const matching = ({ all, known, sets }: Answer): number => (sets.length === known ? all : sets.length);

function fits({ set }: Ranged, { marks }: Settings): boolean {
  for (const [feature, mark] of marks) {
    if (set.members.includes(feature) !== (mark === "required")) return false;
  }
  return true;
}

function sorting(view: View, sort: Sort): (a: Ranged, b: Ranged) => number {
  const smaller = (a: Ranged, b: Ranged) => smallerFirst(a.set, b.set);
  const cost = ({ set }: Ranged) => view.changes.get(keyOf(set.members))?.cost ?? Infinity;
  if (sort === "surer") return (a, b) => b.set.hits - a.set.hits || smaller(a, b);
  if (sort === "longer") return (a, b) => b.high - b.low - (a.high - a.low) || smaller(a, b);
  if (sort === "cheaper") {
    return (a, b) => {
      const [x, y] = [cost(a), cost(b)];
      return x === y ? smaller(a, b) : x - y;
    };
  }
  return smaller;
}

const bySize = (a: Ranged, b: Ranged): number =>
  a.set.members.length - b.set.members.length || byFeatures(a.set, b.set);
const higherFirst = (a: Ranged, b: Ranged): number => b.high - a.high || a.low - b.low || bySize(a, b);
const longerFirst = (a: Ranged, b: Ranged): number => a.low - a.high - (b.low - b.high);

/** A drawing, and the features and sets of its columns and rows. */
export interface Shown {
  picture: Picture;
  features: number[];
  sets: Ranged[];
}

/** The sets at τ, then the longest of the others, as many as there is room for. */
export function pictureOf(explained: Explained, given: Answer, settings: Settings): Shown {
  const { words } = explained;
  const { view, sets, others } = given;
  const tau = view.movable ? settings.tau : words.tau;
  const room = Math.max(Math.min(settings.drawn - sets.length, settings.drawn - ROWS + OTHERS), 0);
  const shown = [...sets.slice(0, settings.drawn), ...others.slice(0, room).sort(higherFirst)];
  const columns = columnsOf(view, shown);
  const where = new Map(columns.map((feature, column) => [feature, column]));
  const picture = {
    columns: columns.map((feature) => columnOf(explained, feature)),
    rows: shown.map((bar) => {
      const inside = bar.set.members.flatMap((feature) => where.get(feature) ?? []);
      return {
        columns: inside.sort((a, b) => a - b),
        n_without_column: bar.set.members.length - inside.length,
        sufficiency: bar.set.hits / words.n,
        interval: clopperPearson(bar.set.hits, words.n),
        low: bar.low,
        high: bar.high,
        at_tau: isAt(tau, bar),
        unknown_below_tau: view.words.only_at_tau === true && Math.abs(tau - bar.low) < 1e-12,
      };
    }),
    tau,
    curve: given.curve,
    chance_curve: given.chanceCurve,
    hidden_note: hiddenNote(given, shown, tau),
  };
  return { picture, features: columns, sets: shown };
}

/** The features in the order of the picture's columns. */
export function columnsOf(view: View, shown: readonly Ranged[]): number[] {
  const { order } = view.words;
  if (order.length <= COLUMNS) return order;
  const times = new Map<number, number>();
  for (const { set } of shown) {
    for (const feature of set.members) times.set(feature, (times.get(feature) ?? 0) + 1);
  }
  const commonest = [...times].sort((a, b) => b[1] - a[1]).slice(0, COLUMNS);
  const named = new Set(commonest.map(([feature]) => feature));
  return order.filter((feature) => named.has(feature));
}

export function columnOf({ words }: Explained, feature: number): Column {
  const [name, value, full] = words.features[feature]!;
  return { name, value, full_name: full || (value ? `${name} = ${value}` : name) };
}

/** How many sets are not drawn, and for which thresholds; "" where all are. */
function hiddenNote({ all, known, sets, others }: Answer, shown: readonly Ranged[], tau: number): string {
  const drawn = new Set(shown);
  const left = [...sets, ...others].filter((bar) => !drawn.has(bar));
  const absent = all > known ? `${count(all - known, "set")} at τ = ${brief(tau)} are not in this page` : "";
  if (!left.length) return absent;
  const low = left.reduce((least, bar) => Math.min(least, bar.low), 1);
  const high = left.reduce((most, bar) => Math.max(most, bar.high), 0);
  const said = `${count(left.length, "more set")} ${left.length === 1 ? "is" : "are"} minimal at some threshold`;
  const beyond = left.filter((bar) => isAt(tau, bar)).length;
  const between = ` between ${low.toFixed(2)} and ${high.toFixed(2)}`;
  const there = beyond ? `, ${grouped(beyond)} of them at τ = ${brief(tau)}` : "";
  return said + between + there + (absent && `; ${absent}`);
}
