/** One view at τ: the sets in words on one side, the signature picture on the other. */

import { type Answer, type Settings, LISTED, matching, pictureOf, ROWS } from "./settings";
import type { Change } from "./controls";
import { nextMark } from "./controls";
import type { Explained } from "./explanation";
import { draw } from "./picture";
import { lead, many, necessity, none, quoted } from "./sentences";
import { CrossingNote, SetList } from "./SetList";
import { SetsPicture } from "./SetsPicture";
import { brief, grouped } from "./words";

interface Given {
  explained: Explained;
  given: Answer;
  settings: Settings;
  change: Change;
  /** The feature that is pointed at; null: none. */
  pointed: number | null;
  point: (feature: number | null) => void;
}

export function ViewSets(props: Given) {
  const { explained, given, settings, change } = props;
  const { words } = explained;
  return (
    <>
      <div class="sentences">
        {given.sets.length > 0 && <p class="soft">{lead(explained, given, settings)}</p>}
        {given.sets.length > 0 && given.all > 1 && <p class="many">{many(given)}</p>}
        {given.sets.length > LISTED && <Common explained={explained} given={given} />}
        {given.sets.length === 0 && <p class="none">{none(explained, given, settings)}</p>}
        <SetList explained={explained} given={given} settings={settings} change={change} />
        <CrossingNote explained={explained} given={given} settings={settings} />
        {given.view.words.minimality && <p class="soft">{given.view.words.minimality}</p>}
        <p class="necessity">{necessity(explained, given)}</p>
      </div>
      {!words.one_reference && <Drawn {...props} />}
    </>
  );
}

/** What many sets have in common, before any list of them. */
function Common({ explained, given }: { explained: Explained; given: Answer }) {
  const n = matching(given);
  // Where the page has only the smallest sets, the counts of all come with it.
  const whole = n === given.all && given.known < n;
  const times = new Map<number, number>(whole ? given.view.words.common : []);
  for (const { set } of whole ? [] : given.sets) {
    for (const feature of set.members) times.set(feature, (times.get(feature) ?? 0) + 1);
  }
  const named = [...times].sort((a, b) => b[1] - a[1]);
  const name = (feature: number) => explained.words.features[feature]![0];
  const all = named.filter(([, k]) => k === n).map(([feature]) => name(feature));
  const most = named.filter(([, k]) => k < n && 2 * k >= n).map(([feature, k]) => `${name(feature)} (${grouped(k)})`);
  const nothing = `no ${explained.words.feature}`;
  return (
    <dl class="common">
      <dt>in all</dt>
      <dd>{all.join(", ") || nothing}</dd>
      <dt>in most</dt>
      <dd>{most.slice(0, 12).join(", ") || nothing}</dd>
    </dl>
  );
}

function Drawn({ explained, given, settings, change, pointed, point }: Given) {
  const { view } = given;
  const { picture, features, sets } = pictureOf(explained, given, settings);
  if (!picture.rows.length) return null;
  const { words } = explained;
  const title = `${view.words.name === "keep" ? "Keeps" : "Flips to"} ${quoted(view.words.outcome)}`;
  const at = pointed === null ? -1 : features.indexOf(pointed);
  const lit = at < 0 ? undefined : new Set(picture.rows.flatMap((row, i) => (row.columns.includes(at) ? [i] : [])));
  const marked = new Map(features.flatMap((feature, j) => (settings.marks.has(feature) ? [[j, settings.marks.get(feature)!] as const] : [])));
  return (
    <div class="drawn">
      <h3>{view.words.only_at_tau ? "The sets in a picture" : "Every threshold at once"}</h3>
      <p class="note">
        A row is a set: its {words.feature}s are joined. Right of it, how often it suffices (marks: 95% interval), and the
        thresholds τ at which it is minimal. The dashed line is τ = {brief(picture.tau)}.{" "}
        <span class="ask">Click a {words.feature} to require it, again to exclude it; click a row to try its set.</span>
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label={`${title}: the sets in a picture`}>
        <SetsPicture
          drawing={draw(picture)}
          label={`${title}: ${grouped(matching(given))} sets minimal at τ = ${brief(picture.tau)}, listed in words beside the picture`}
          onColumn={(column) => change({ marks: nextMark(settings.marks, features[column]!) })}
          onRow={(row) => change({ picked: new Set(sets[row]!.set.members) })}
          onPoint={(column) => point(column === null ? null : features[column]!)}
          lit={lit}
          marked={marked}
        />
      </div>
      {picture.hidden_note && (
        <p class="note">
          {picture.hidden_note}. <button type="button" class="plain rows" onClick={() => change({ drawn: settings.drawn + ROWS })}>draw more</button>
        </p>
      )}
    </div>
  );
}
