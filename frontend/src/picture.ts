/**
 * Signature picture of one view as SVG marks, the same as `suffice.report.html` computes; a test
 * compares the two.
 */

import { brief, cut, percent } from "./words";

export interface Column {
  name: string;
  value: string;
  full_name: string;
}

export interface Row {
  columns: number[];
  n_without_column: number;
  sufficiency: number;
  interval: readonly [number, number];
  low: number;
  high: number;
  at_tau: boolean;
  /** Whether the search decided the set at τ only, so that `low` is just below τ. */
  unknown_below_tau: boolean;
}

export interface Picture {
  columns: Column[];
  rows: Row[];
  tau: number;
  curve: [number, number][];
  /** What chance gives. */
  chance_curve: [number, number][];
  hidden_note: string;
}

export interface Mark {
  kind: "line" | "dot" | "box" | "text" | "path";
  style: string;
  at: number[];
  text: string;
  anchor: "start" | "middle" | "end";
  title: string;
  rotated: boolean;
  row: number;
  column: number;
}

export interface Drawing {
  width: number;
  height: number;
  marks: Mark[];
  /** The middle of each row and of each column, and how far they go: where to point at. */
  rows: number[];
  columns: number[];
  top: number;
  bottom: number;
  /** Marks from this x on are in the right half, which narrow screens show below the left. */
  split: number;
  half_top: number;
  has_curve: boolean;
}

export const LEFT = 12;
export const COLUMN = 24;
export const ROW = 22;
const HEAD_LETTERS = 26;
const LETTER = 6.2;
export const TURN = 50;
/** A half of at most this width is shown whole on narrow screens, a little smaller. */
export const SHORT = 390;
const SHARES = 150;
const NUMBER = 58;
const THRESHOLDS = 230;
const GAP = 22;
const GROUP = 20;
const AXIS = 40;
const CURVE = 84;

const tenth = (value: number): number => Math.round(value * 10) / 10;
const PLAIN = { text: "", anchor: "start", title: "", rotated: false, row: -1, column: -1 } as const;

function mark(kind: Mark["kind"], style: string, at: number[], more: Partial<Mark> = {}): Mark {
  return { kind, style, at, ...PLAIN, ...more };
}

interface Axis {
  left: number;
  width: number;
  start: number;
}

const place = ({ left, width, start }: Axis, share: number): number =>
  tenth(left + (width * (Math.min(Math.max(share, start), 1) - start)) / (1 - start));

const ticks = ({ start }: Axis): number[] =>
  start > 0 ? [start, (start + 1) / 2, 1] : [0, 0.25, 0.5, 0.75, 1];

/** Start of an axis for these shares: 0, or more where all are near 1 (`axis_start` in Python). */
function startOf(lows: number[], tau: number): number {
  const least = Math.min(...lows, tau);
  if (least < 0.4) return 0;
  const step = least < 0.9 ? 0.1 : least < 0.97 ? 0.05 : 0.02;
  const steps = Math.floor((least - step / 10) / step + 1e-9);
  return Math.round(Math.max(0, steps * step) * 1e6) / 1e6;
}

export const labelOf = ({ name, value }: Column): string => (value ? `${name} = ${value}` : name);

export function draw(picture: Picture): Drawing {
  const { columns, rows, tau } = picture;
  const heads = columns.map((column) => cut(labelOf(column), HEAD_LETTERS));
  const others = rows.some((row) => row.n_without_column);
  const longest = Math.max(0, ...heads.map((head) => head.length));
  const matrix = LEFT + COLUMN * (heads.length + (others ? 1 : 0));
  const lean = (TURN * Math.PI) / 180;
  const top = tenth(30 + Math.max(longest * LETTER * Math.sin(lean), 24));
  const shares = { left: matrix + GAP, width: SHARES, start: startOf(rows.map((r) => r.interval[0]), tau) };
  const thresholds = {
    left: matrix + GAP + SHARES + NUMBER,
    width: THRESHOLDS,
    start: startOf(rows.map((r) => r.low), tau),
  };
  const marks: Mark[] = [];
  const middles: number[] = [];
  let y = top;
  for (const group of [true, false]) {
    const mine = rows.flatMap((row, i) => (row.at_tau === group ? [i] : []));
    if (!mine.length) continue;
    const said = group ? `minimal at τ = ${brief(tau)}` : "at other thresholds";
    marks.push(mark("text", "group", [LEFT, y + 14], { text: said }));
    y += GROUP;
    // One dotted line per column has a dot in each row; sets draw over their own.
    const [first, last] = [y + ROW / 2, y + ROW * (mine.length - 0.5)];
    heads.forEach((_, j) => {
      const x = LEFT + COLUMN * (j + 0.5);
      marks.push(mark("line", "out", [x, first, x, last + 0.1], { column: j }));
    });
    for (const i of mine) {
      marks.push(...rowMarks(picture, i, y, heads.length, shares, thresholds));
      middles[i] = y + ROW / 2;
      y += ROW;
    }
  }
  const bottom = y + 4;
  const centres = heads.map((_, j) => LEFT + COLUMN * (j + 0.5));
  const named = heads.map((head, j) =>
    mark("text", "head", [centres[j]!, top - 8], {
      text: head,
      title: columns[j]!.full_name === head ? "" : columns[j]!.full_name,
      rotated: true,
      column: j,
    }),
  );
  if (others) {
    const x = LEFT + COLUMN * (heads.length + 0.5);
    named.push(mark("text", "head", [x, top - 8], { text: "others", rotated: true }));
  }
  const titles = [
    mark("text", "title", [shares.left, top - 20], { text: "sufficiency" }),
    mark("text", "title", [thresholds.left, top - 20], { text: "minimal for thresholds τ" }),
  ];
  const grid = [...gridMarks(shares, top - 2, bottom), ...gridMarks(thresholds, top - 2, bottom)];
  const end = picture.curve.length ? bottom + AXIS + CURVE : bottom;
  const curve = picture.curve.length ? curveMarks(picture, thresholds, bottom + AXIS, end) : [];
  const at = place(thresholds, tau);
  const lines = [
    mark("line", "tau", [place(shares, tau), top - 2, place(shares, tau), bottom]),
    mark("line", "tau", [at, top - 2, at, end]),
    mark("text", "tau", [at, top - 6], { text: `τ = ${brief(tau)}`, anchor: "middle" }),
  ];
  const leaning = LEFT + COLUMN * heads.length + longest * LETTER * Math.cos(lean);
  return {
    width: tenth(Math.max(thresholds.left + THRESHOLDS + 24, leaning)),
    height: tenth(end + 20),
    marks: [...grid, ...named, ...titles, ...marks, ...curve, ...lines],
    rows: middles,
    columns: centres,
    top,
    bottom,
    split: shares.left + SHARES + 6,
    half_top: tenth(top - 34),
    has_curve: end > bottom,
  };
}

function rowMarks(
  picture: Picture,
  i: number,
  y: number,
  heads: number,
  shares: Axis,
  thresholds: Axis,
): Mark[] {
  const row = picture.rows[i]!;
  const on = row.at_tau ? " on" : "";
  const middle = y + ROW / 2;
  const x = (j: number) => LEFT + COLUMN * (j + 0.5);
  const out: Mark[] = [];
  if (row.columns.length > 1) {
    const [first, last] = [row.columns[0]!, row.columns[row.columns.length - 1]!];
    out.push(mark("line", `join${on}`, [x(first), middle, x(last), middle], { row: i }));
  }
  for (const j of row.columns) {
    const text = picture.columns[j]!.full_name;
    out.push(mark("dot", `in${on}`, [x(j), middle, 6], { text, row: i, column: j }));
  }
  if (row.n_without_column) {
    const at = [x(heads), middle + 4];
    out.push(mark("text", "others", at, { text: `+${row.n_without_column}`, anchor: "middle", row: i }));
  }
  const [low, high] = row.interval;
  const share = percent(row.sufficiency);
  const said = `${share}, 95% interval ${percent(low)} to ${percent(high)}`;
  const wide = tenth(Math.max(place(shares, row.sufficiency) - shares.left, 1));
  out.push(mark("box", `share${on}`, [shares.left, middle - 5, wide, 10], { text: said, row: i }));
  const [a, b] = [place(shares, low), place(shares, high)];
  const [up, down] = [middle - 4, middle + 4];
  const corners = [a, up, a, down, a, middle, b, middle, b, up, b, down];
  out.push(mark("path", "whisker", corners, { row: i }));
  out.push(mark("text", `number${on}`, [shares.left + SHARES + 8, middle + 4], { text: share, row: i }));
  const [c, d] = [place(thresholds, row.low), place(thresholds, row.high)];
  let until = `minimal for τ above ${row.low.toFixed(3)} up to ${row.high.toFixed(3)}`;
  if (row.unknown_below_tau) {
    until = `minimal for τ from ${brief(picture.tau)} up to ${row.high.toFixed(3)}; not known below`;
    out.push(mark("line", "unknown", [thresholds.left, middle, c, middle], { row: i }));
  }
  const box = [c, middle - 5, tenth(Math.max(d - c, 1.5)), 10];
  out.push(mark("box", `bar${on}`, box, { text: until, row: i }));
  return out;
}

function gridMarks(axis: Axis, top: number, bottom: number): Mark[] {
  return ticks(axis).flatMap((tick) => {
    const x = place(axis, tick);
    const text = brief(Math.round(tick * 1000) / 1000);
    return [
      mark("line", "grid", [x, top, x, bottom]),
      mark("text", "tick", [x, bottom + 13], { text, anchor: "middle" }),
    ];
  });
}

function curveMarks(picture: Picture, axis: Axis, top: number, bottom: number): Mark[] {
  const y = (share: number) => tenth(bottom - (bottom - top) * share);
  const out = [0, 0.5, 1].flatMap((share) => [
    mark("line", "grid", [axis.left, y(share), axis.left + THRESHOLDS, y(share)]),
    mark("text", "tick", [axis.left - 6, y(share) + 4], { text: `${share * 100}%`, anchor: "end" }),
  ]);
  for (const [style, curve] of [["chance", picture.chance_curve], ["step", picture.curve]] as const) {
    const corners: number[] = [];
    let before = axis.start;
    for (const [tau, share] of [...curve, [1, 0] as const]) {
      if (tau > before) {
        corners.push(place(axis, before), y(share), place(axis, tau), y(share));
        before = tau;
      }
    }
    out.push(mark("path", style, corners));
  }
  out.push(mark("text", "title", [axis.left - 46, top - 12], { text: "cumulative necessity (thin: by chance)" }));
  return out;
}
