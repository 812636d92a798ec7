/** Sentences about a view and a set, in the words of Python's `suffice.summary`. */

import { type Answer, type Settings, matching } from "./settings";
import type { Measured } from "./arithmetic";
import { type Explained, keyOf, type KnownSet, type View } from "./explanation";
import { brief, chance, count, grouped, listed, percent, price } from "./words";

const ADJUSTED = { none: "", bonferroni: "bonferroni", holm: "holm", bh: "bh" } as const;

export const quoted = (outcome: string): string => `“${outcome}”`;

/** Sentence on the intervention of a view, and how often the outcome must follow. */
export function lead({ words }: Explained, { view }: Answer, settings: Settings): string {
  const { name, outcome, does } = view.words;
  const tau = view.movable ? settings.tau : words.tau;
  const often = tau === 1 ? " in all cases" : ` in at least ${percent(tau)} of cases`;
  const adjusted = ADJUSTED[settings.adjust] ? ` (${ADJUSTED[settings.adjust]}-adjusted)` : "";
  const tested =
    settings.alpha === null ? "" : `, each by an exact binomial test at α = ${brief(settings.alpha)}${adjusted}`;
  const cases = words.one_reference ? "" : often;
  return `${does}: ${quoted(outcome)} ${name === "keep" ? "stays" : "results"}${cases}${tested}.`;
}

/** Sentence for an empty list: no set reaches τ, or none fits the filters. */
export function none({ words }: Explained, given: Answer, settings: Settings): string {
  const { feature } = words;
  if (given.all) {
    const here = given.known < given.all ? `${grouped(given.known)} sets in this page` : `${grouped(given.all)} sets`;
    const sets = given.all === 1 ? "The only set" : `None of the ${here}`;
    const fits = given.all === 1 ? "does not fit" : "fits";
    return `${sets} at this threshold ${fits} the ${feature}s that you require or exclude.`;
  }
  if (given.view.words.none_reached) return given.view.words.none_reached;
  const test = settings.alpha === null ? "" : ` at level α = ${brief(settings.alpha)}`;
  const who = given.view.words.complete ? `No set of ${feature}s` : `No set of ${feature}s that was tried`;
  const said = `${who} reaches τ = ${brief(settings.tau)}${test}.`;
  const best = given.others.reduce<number>((most, { high }) => Math.max(most, high), 0);
  return best > 0 ? `${said} The surest reaches ${brief(Math.floor(best * 1000) / 1000)}: move τ down to see it.` : said;
}

export function necessity({ words }: Explained, given: Answer): string {
  const { view, all } = given;
  const outcome = quoted(view.words.outcome);
  if (!view.movable && view.counts === null) return view.words.necessity ?? "";
  if (given.necessity === null) {
    return view.counts ? `No hybrid comes out as ${outcome}, so nothing is necessary for it.` : "Necessity was not estimated.";
  }
  if (!all) return "";
  const hidden = given.sets.length < all;
  const those = hidden ? `All ${grouped(all)} sets at this threshold and their supersets` : "These sets and their supersets";
  const who = all === 1 ? "This set and its supersets" : those;
  const scope = words.scope_phrase ? ` among sets${words.scope_phrase}` : "";
  const by = given.baseline ? `; ${chance(given.baseline, given.necessity, view.counts !== null)}` : "";
  const said = `${who} cover ${percent(given.necessity)} of the ways to ${outcome} (cumulative necessity${scope}${by})`;
  if (!given.interval) return `${said}.`;
  const [low, high] = given.interval;
  return `${said}; estimated, 95% interval ${percent(low)} to ${percent(high)}.`;
}

export function conditions({ words, text }: Explained, view: View, members: readonly number[]): string[] {
  return members.map((feature) => {
    const shown = view.words.name === "keep" && !text ? words.conditions[feature]! : words.features[feature]![0];
    return text ? quoted(shown) : shown;
  });
}

/** A set in one sentence, for the clipboard. */
export function sentence(explained: Explained, view: View, set: KnownSet, measured?: Pick<Measured, "interval">): string {
  const { words } = explained;
  const what = listed(conditions(explained, view, set.members)) || "nothing";
  const share = set.hits / words.n;
  const keep = view.words.name === "keep";
  const does = keep
    ? `Holding ${what} keeps ${quoted(view.words.outcome)}`
    : `Replacing ${what} flips it to ${quoted(view.words.outcome)}`;
  const [low, high] = measured?.interval ?? [null, null];
  const sure = low === null || words.one_reference ? "" : ` (95% interval ${percent(low)} to ${percent(high)})`;
  const change = view.changes.get(keyOf(set.members));
  const how = change ? `; ${changeTold(explained, change.text, change.cost)}` : "";
  return `${does} for ${percent(share)} of ${count(words.n, "reference")}${sure}${how}.`;
}

export const changeTold = ({ text }: Explained, change: string, cost: number): string =>
  text ? `for example: ${change}` : `cheapest change of this set: ${change} (cost ${price(cost)})`;

/** How many sets there are, and how many of them are listed. */
export function many({ all, known, sets }: Answer): string {
  const total = `${grouped(all)} sets`;
  if (known === all) return sets.length < all ? `${grouped(sets.length)} of ${total}` : total;
  const here = `the ${grouped(known)} smallest`;
  if (sets.length === known) return `${total}, of which this page has ${here}`;
  return `${grouped(sets.length)} of ${here} of ${total}; the others are not in this page`;
}

/** Number of sets of each view, for screen readers. */
export function status(explained: Explained, answers: readonly Answer[], settings: Settings): string {
  const parts = answers.map((given) => {
    const { view } = given;
    const sets = matching(given);
    const one = sets === 1 ? "s" : "";
    const does = view.words.name === "keep" ? `keep${one}` : `flip${one} it to`;
    const found = view.words.complete ? "" : " found";
    return `${count(sets, "set")}${found} ${does} ${quoted(view.words.outcome)}`;
  });
  const at = explained.words.one_reference ? "" : `At τ = ${brief(settings.tau)}: `;
  return `${at}${parts.join("; ")}.`;
}
