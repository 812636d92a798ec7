/** A set that the reader chooses: its sufficiency and necessity in both views. */

import { clopperPearson, measure, type Measured } from "./arithmetic";
import type { Settings } from "./settings";
import type { Change } from "./controls";
import { CopyButton } from "./copying";
import { type Explained, keyOf, offeredFeatures, type View } from "./explanation";
import { quoted, sentence } from "./sentences";
import { chance, count, percent } from "./words";

export function Picked({ explained, settings, change }: { explained: Explained; settings: Settings; change: Change }) {
  const { words } = explained;
  const press = (feature: number) => {
    const picked = new Set(settings.picked);
    if (!picked.delete(feature)) picked.add(feature);
    change({ picked });
  };
  const offered = offeredFeatures(explained);
  const members = [...settings.picked].sort((a, b) => a - b);
  return (
    <section class="picked" aria-label="Try a set of your own">
      <h2>Try a set of your own</h2>
      <p class="soft">Press {words.feature}s to make a set: held, how often does it keep the outcome; replaced, how often does it flip it?</p>
      <p class="choose">
        {offered.map((feature) => {
          const [name, , full] = words.features[feature]!;
          return (
            <button type="button" class="chip pick" aria-pressed={settings.picked.has(feature)} title={full || undefined} onClick={() => press(feature)}>
              {name}
            </button>
          );
        })}
        {members.length > 0 && <button type="button" class="plain clear" onClick={() => change({ picked: new Set() })}>clear</button>}
      </p>
      {offered.length < words.features.length && (
        <p class="note">{count(words.features.length - offered.length, `other ${words.feature}`)}: none of the sets names them.</p>
      )}
      <div class="measured" aria-live="polite">
        {members.length > 0 && explained.views.map((view) => <Told explained={explained} view={view} members={members} />)}
      </div>
    </section>
  );
}

/** Measures of a set: of any where all were counted, else of those that the page contains. */
function measured({ words }: Explained, view: View, members: readonly number[]): Measured | null {
  if (view.counts) return measure(view.counts, members.reduce((mask, j) => mask | (1 << j), 0));
  const known = view.sets.find((set) => keyOf(set.members) === keyOf(members));
  if (!known) return null;
  const interval = clopperPearson(known.hits, words.n);
  return { hits: known.hits, sufficiency: known.hits / words.n, interval, necessity: null, baseline: null };
}

function Told({ explained, view, members }: { explained: Explained; view: View; members: readonly number[] }) {
  const { words } = explained;
  const found = measured(explained, view, members);
  const keep = view.words.name === "keep";
  const title = `${keep ? "Held, it keeps" : "Replaced, it flips to"} ${quoted(view.words.outcome)}`;
  if (!found) {
    return (
      <div class={view.words.name} data-view={view.words.name}>
        <h3>{title}</h3>
        <p>This set’s count is not in this page, which has those of minimal sets only.</p>
      </div>
    );
  }
  const [low, high] = found.interval;
  const set = { members, hits: found.hits, below: 0 };
  return (
    <div class={view.words.name} data-view={view.words.name} data-sufficiency={found.sufficiency} data-necessity={found.necessity ?? ""} data-low={low} data-high={high}>
      <h3>{title}</h3>
      <dl>
        <dt>sufficiency</dt>
        <dd>
          {percent(found.sufficiency)} <span class="soft">({count(found.hits, "hit").replace(/ hits?$/, "")} of {count(words.n, "reference")}{words.one_reference ? "" : `; 95% interval ${percent(low)} to ${percent(high)}`})</span>
        </dd>
        {found.necessity !== null && <dt>set necessity</dt>}
        {found.necessity !== null && (
          <dd>
            {percent(found.necessity)} <span class="soft">(of the ways to {quoted(view.words.outcome)} {keep ? "hold" : "replace"} at least these{found.baseline ? `; ${chance(found.baseline, found.necessity, true)}` : ""})</span>
          </dd>
        )}
      </dl>
      <CopyButton text={() => sentence(explained, view, set, found)} />
    </div>
  );
}
