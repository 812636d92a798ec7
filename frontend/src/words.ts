/** Numbers and lists as text, as Python's `suffice.formatting` writes them. */

/** A share that never rounds to 0% or 100%; halves are rounded to even numbers, as in Python. */
export function percent(share: number | null): string {
  if (share === null) return "–";
  if (share > 0 && share <= 0.005) return "<1%";
  if (share >= 0.995 && share < 1) return ">99%";
  const value = share * 100;
  const rounded = Math.round(value);
  const tie = value - Math.floor(value) === 0.5 && rounded % 2 === 1;
  return `${tie ? rounded - 1 : rounded}%`;
}

/** A number in as few digits as it needs, at most six. */
export const brief = (value: number): string => String(Number(value.toPrecision(6)));

/** A cost with three significant digits. */
export const price = (cost: number): string => String(Number(cost.toPrecision(3)));

/** What chance gives for a necessity, and how many times as much it is. Halves are rounded up. */
export function chance(baseline: number, necessity: number, exact: boolean): string {
  const lift = necessity / baseline;
  const times = lift >= 10 ? grouped(Math.floor(lift + 0.5)) : (Math.floor(lift * 100 + 0.5) / 100).toFixed(2);
  return `by chance ${exact ? "" : "about "}${percent(baseline)}, lift ${times}`;
}

export const grouped = (n: number): string => n.toLocaleString("en-US");

export const count = (n: number, noun: string): string =>
  `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;

export function listed(words: readonly string[], word = "and"): string {
  const last = words[words.length - 1] ?? "";
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} ${word} ${last}` : last;
}

export const cut = (text: string, room: number): string =>
  text.length <= room ? text : `${text.slice(0, room - 1).trimEnd()}…`;
