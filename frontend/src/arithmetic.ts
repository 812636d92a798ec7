/**
 * What counts say: minimal sets at every threshold, necessity, exact intervals.
 *
 * The same arithmetic as `suffice.search.profile` and `suffice.inference`, over the same counts. A
 * set of features is a bit mask. More hits pass at a higher threshold under every test, so which
 * sets can be minimal is settled once, in hits; a test only says which threshold so many hits reach.
 */

export interface Counts {
  d: number;
  n: number;
  /** By bit mask: how many of the n references have the view's outcome. */
  hits: Int32Array;
  /** The largest size that may be reported. */
  largest: number;
  /** By size: how much one set counts. */
  weights: readonly number[];
}

/** By mask, in hits: the best strictly inside a set, and the best at or inside it. */
export interface Ladder {
  below: Int32Array;
  reach: Int32Array;
}

export type Adjustment = "none" | "bonferroni" | "holm" | "bh";

export const bits = (mask: number): number => {
  let v = mask - ((mask >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return (((v + (v >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
};

/** Counts by size, and in a size by mask, as explanations are stored. */
export function dense(levels: readonly (readonly number[])[], d: number): Int32Array {
  const out = new Int32Array(2 ** d);
  const at = new Array<number>(d + 1).fill(0);
  for (let mask = 0; mask < out.length; mask++) {
    const size = bits(mask);
    out[mask] = levels[size]![at[size]!++]!;
  }
  return out;
}

/** Counts of the other view, from the same hybrids: replacing a set is holding all others. */
export function mirrored(counts: Counts): Counts {
  const all = counts.hits.length - 1;
  const hits = counts.hits.map((_, mask) => counts.n - counts.hits[all ^ mask]!);
  return { ...counts, hits, weights: [...counts.weights].reverse() };
}

/** How much one set of each size counts: all alike, or as likely as its size. Only ratios matter. */
export function weightsOf(d: number, bySize: readonly number[] | null): number[] {
  if (bySize === null) return new Array<number>(d + 1).fill(1);
  const most = Math.max(...bySize);
  let ways = 1;
  return bySize.map((weight, size) => {
    const each = weight / most / ways;
    ways = Math.round((ways * (d - size)) / (size + 1));
    return each;
  });
}

/** One climb up the lattice. What is too large to be reported passes nowhere. */
export function climb({ d, hits, largest }: Counts): Ladder {
  const below = new Int32Array(hits.length);
  const reach = new Int32Array(hits.length);
  for (let mask = 0; mask < hits.length; mask++) {
    let best = 0;
    for (let j = 0; j < d; j++) {
      if (mask & (1 << j)) best = Math.max(best, reach[mask ^ (1 << j)]!);
    }
    below[mask] = best;
    reach[mask] = bits(mask) <= largest ? Math.max(best, hits[mask]!) : best;
  }
  return { below, reach };
}

/** A set that may be minimal at some threshold: more hits than anything inside it. */
export interface Bar {
  members: readonly number[];
  hits: number;
  below: number;
}

export const membersOf = (mask: number): number[] => {
  const out: number[] = [];
  for (let j = 0; mask >>> j; j++) if ((mask >>> j) & 1) out.push(j);
  return out;
};

/** Return the bars of all sets: smaller ones first, then by hits, then by mask. */
export function barsOf({ hits, largest }: Counts, { below }: Ladder): Bar[] {
  const masks: number[] = [];
  for (let mask = 0; mask < hits.length; mask++) {
    if (hits[mask]! > below[mask]! && bits(mask) <= largest) masks.push(mask);
  }
  masks.sort((a, b) => bits(a) - bits(b) || hits[b]! - hits[a]! || a - b);
  return masks.map((mask) => ({ members: membersOf(mask), hits: hits[mask]!, below: below[mask]! }));
}

/** Hits reached, ascending, each with the weight of the outcome's hybrids that reach just it. */
export type Mass = readonly (readonly [number, number])[];

export function massOf({ hits, weights }: Counts, { reach }: Ladder): Mass {
  const sums = new Map<number, number>();
  for (let mask = 0; mask < hits.length; mask++) {
    const weight = hits[mask]! * weights[bits(mask)]!;
    sums.set(reach[mask]!, (sums.get(reach[mask]!) ?? 0) + weight);
  }
  return [...sums].sort((a, b) => a[0] - b[0]);
}

/** Steps of the weight of all hybrids, whatever their outcome: what chance gives. */
export function chanceOf({ hits, weights }: Counts, { reach }: Ladder): Mass {
  const sums = new Map<number, number>();
  for (let mask = 0; mask < hits.length; mask++) {
    sums.set(reach[mask]!, (sums.get(reach[mask]!) ?? 0) + weights[bits(mask)]!);
  }
  return [...sums].sort((a, b) => a[0] - b[0]);
}

/** The largest threshold at which a set with so many hits passes. */
export type Level = (hits: number) => number;

/** The sets that are minimal at τ. */
export const minimalAt = (bars: readonly Bar[], level: Level, tau: number): Bar[] =>
  bars.filter((bar) => level(bar.below) < tau && tau <= level(bar.hits));

/**
 * Cumulative necessity: the share of the outcome within the closure of the sets minimal at τ. Of the
 * mass of all hybrids it is the baseline: what chance gives.
 */
export function necessityAt(mass: Mass, level: Level, tau: number): number | null {
  let covered = 0;
  let all = 0;
  for (const [hits, weight] of mass) {
    all += weight;
    if (level(hits) >= tau) covered += weight;
  }
  return all ? covered / all : null;
}

/** Steps (τ, cumulative necessity): each holds for thresholds up to its τ. */
export function curveOf(mass: Mass, level: Level): [number, number][] {
  const total = mass.reduce((sum, [, weight]) => sum + weight, 0);
  if (!total) return [];
  const steps = new Map<number, number>();
  for (const [hits, weight] of mass) steps.set(level(hits), (steps.get(level(hits)) ?? 0) + weight);
  let left = 0;
  const out: [number, number][] = [];
  for (const [tau, weight] of [...steps].sort((a, b) => b[0] - a[0])) {
    left += weight;
    if (tau > 0) out.unshift([tau, left / total]);
  }
  return out;
}

export interface Measured {
  hits: number;
  sufficiency: number;
  interval: [number, number];
  /** Of "at least these": the share of the outcome's hybrids that hold them all; null: undefined. */
  necessity: number | null;
  /** The share of all hybrids that hold them all, whatever their outcome. */
  baseline: number | null;
}

/** Measure any set, minimal or not. */
export function measure({ n, hits, weights }: Counts, wanted: number): Measured {
  let both = 0;
  let all = 0;
  let above = 0;
  let sets = 0;
  for (let mask = 0; mask < hits.length; mask++) {
    const each = weights[bits(mask)]!;
    all += hits[mask]! * each;
    sets += each;
    if ((mask & wanted) === wanted) {
      both += hits[mask]! * each;
      above += each;
    }
  }
  const here = hits[wanted]!;
  const necessity = all ? Math.min(both / all, 1) : null;
  return { hits: here, sufficiency: here / n, interval: clopperPearson(here, n), necessity, baseline: above / sets };
}

/** How many sets have so many hits: what Holm and Benjamini–Hochberg step through. */
export function familyOf({ hits, largest }: Counts): Map<number, number> {
  const family = new Map<number, number>();
  for (let mask = 0; mask < hits.length; mask++) {
    if (bits(mask) <= largest) family.set(hits[mask]!, (family.get(hits[mask]!) ?? 0) + 1);
  }
  return family;
}

/** Which threshold so many hits reach: their share, or the bound of the test, adjusted. */
export function levelOf(
  n: number,
  alpha: number | null,
  adjust: Adjustment,
  family: ReadonlyMap<number, number>,
): Level {
  if (alpha === null) return (hits) => hits / n;
  const sets = [...family.values()].reduce((sum, k) => sum + k, 0);
  if (adjust === "none" || adjust === "bonferroni") {
    const each = adjust === "none" ? alpha : alpha / sets;
    const known = new Map<number, number>();
    return (hits) => {
      let found = known.get(hits);
      if (found === undefined) known.set(hits, (found = lowerBound(hits, n, each)));
      return found;
    };
  }
  const steps = adjust === "holm" ? holm(n, alpha, family, sets) : hochberg(n, alpha, family, sets);
  return (hits) => steps.get(hits) ?? 0;
}

type Steps = Map<number, number>;

function holm(n: number, alpha: number, family: ReadonlyMap<number, number>, sets: number): Steps {
  const out: Steps = new Map();
  let rank = 1;
  let lowest = Infinity;
  for (const [hits, many] of [...family].sort((a, b) => b[0] - a[0])) {
    // Of sets with equal hits the first has the smallest level, and no later one may pass above it.
    lowest = Math.min(lowest, lowerBound(hits, n, alpha / (sets + 1 - rank)));
    out.set(hits, lowest);
    rank += many;
  }
  return out;
}

function hochberg(n: number, alpha: number, family: ReadonlyMap<number, number>, sets: number): Steps {
  const out: Steps = new Map();
  let rank = sets;
  let highest = 0;
  for (const [hits, many] of [...family].sort((a, b) => a[0] - b[0])) {
    highest = Math.max(highest, lowerBound(hits, n, (alpha * rank) / sets));
    out.set(hits, highest);
    rank -= many;
  }
  return out;
}

// -- exact binomial tests and intervals ------------------------------------------------------

/** P(X >= hits) for X ~ Binomial(n, τ). */
export const pValue = (hits: number, n: number, tau: number): number =>
  hits > 0 ? betainc(hits, n - hits + 1, tau) : 1;

/** The one-sided Clopper–Pearson lower bound: the largest τ at which p <= α. */
export const lowerBound = (hits: number, n: number, alpha: number): number =>
  hits > 0 ? betaincinv(hits, n - hits + 1, alpha) : 0;

const intervals = new Map<string, [number, number]>();

/** The exact two-sided 95% interval; equal counts have equal ones, so each is computed once. */
export function clopperPearson(hits: number, n: number): [number, number] {
  const key = `${hits}/${n}`;
  let found = intervals.get(key);
  if (!found) {
    const high = hits < n ? betaincinv(hits + 1, n - hits, 1 - HALF) : 1;
    intervals.set(key, (found = [lowerBound(hits, n, HALF), high]));
  }
  return found;
}

const HALF = (1 - 0.95) / 2;

const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
  -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
  1.5056327351493116e-7,
];

function logGamma(x: number): number {
  let sum = LANCZOS[0]!;
  for (let i = 1; i < LANCZOS.length; i++) sum += LANCZOS[i]! / (x - 1 + i);
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/** The regularised incomplete beta function, by its continued fraction (Lentz). */
export function betainc(a: number, b: number, x: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - betainc(b, a, 1 - x);
  const log = logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x);
  const tiny = 1e-300;
  let c = 1;
  let d = 1 / (1 - ((a + b) * x) / (a + 1) || tiny);
  let fraction = d;
  for (let m = 1; m < 100_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d || tiny);
    c = 1 + even / c || tiny;
    fraction *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d || tiny);
    c = 1 + odd / c || tiny;
    fraction *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return (Math.exp(log) * fraction) / a;
}

/** The x with betainc(a, b, x) = p: Newton's steps, kept between bounds that halving narrows. */
export function betaincinv(a: number, b: number, p: number): number {
  let low = 0;
  let high = 1;
  let x = a / (a + b);
  const log = logGamma(a + b) - logGamma(a) - logGamma(b);
  for (let step = 0; step < 200; step++) {
    const off = betainc(a, b, x) - p;
    if (off === 0) return x;
    if (off > 0) high = x;
    else low = x;
    const density = Math.exp(log + (a - 1) * Math.log(x) + (b - 1) * Math.log1p(-x));
    let next = x - off / density;
    if (!(next > low && next < high)) next = (low + high) / 2;
    if (Math.abs(next - x) <= 1e-15 * next || next === low || next === high) return next;
    x = next;
  }
  return x;
}
