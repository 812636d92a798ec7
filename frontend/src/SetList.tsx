/** The sets at τ in words, each with its share, its interval and a sentence to copy. */

import { clopperPearson } from "./arithmetic";
import { type Answer, type Settings, LISTED } from "./settings";
import { CopyButton } from "./copying";
import type { Explained, KnownSet, View } from "./explanation";
import { keyOf } from "./explanation";
import { changeTold, conditions, sentence } from "./sentences";
import { grouped, percent } from "./words";
import type { Change } from "./controls";

const AT_ONCE = 100;

export function SetList({ explained, given, settings, change }: { explained: Explained; given: Answer; settings: Settings; change: Change }) {
  const { view, sets } = given;
  const left = sets.length - settings.listed;
  return (
    <>
      <ol class="factors">
        {sets.slice(0, settings.listed).map(({ set }) => (
          <OneSet key={keyOf(set.members)} explained={explained} view={view} set={set} tau={tauOf(explained, view, settings)} pick={() => change({ picked: new Set(set.members) })} />
        ))}
      </ol>
      {left > 0 && (
        <button type="button" class="plain more" onClick={() => change({ listed: settings.listed + AT_ONCE })}>
          {left <= AT_ONCE ? `show the other ${grouped(left)}` : `show ${AT_ONCE} more of the other ${grouped(left)}`}
        </button>
      )}
      {left <= 0 && settings.listed > LISTED && sets.length > LISTED && (
        <button type="button" class="plain more" onClick={() => change({ listed: LISTED })}>show only the first {LISTED}</button>
      )}
    </>
  );
}

const tauOf = ({ words }: Explained, view: View, settings: Settings) => (view.movable ? settings.tau : words.tau);

/** Does the interval of a set that reaches τ begin below it? Then other references might not show it.
 *  Of all features together it is true by construction. */
function crosses({ words }: Explained, view: View, set: KnownSet, tau: number): boolean {
  const certain = view.words.all_suffice && set.members.length === words.features.length;
  return words.n > 1 && !certain && clopperPearson(set.hits, words.n)[0] < tau && tau <= set.hits / words.n;
}

/** What the star beside a share means, as Python's summary says it. */
export function CrossingNote({ explained, given, settings }: { explained: Explained; given: Answer; settings: Settings }) {
  const tau = tauOf(explained, given.view, settings);
  if (!given.sets.slice(0, settings.listed).some(({ set }) => crosses(explained, given.view, set, tau))) return null;
  return <p class="note">* Its 95% interval reaches below τ: other references might not show it.</p>;
}

export function OneSet({ explained, view, set, tau, pick }: { explained: Explained; view: View; set: KnownSet; tau: number; pick?: () => void }) {
  const { words } = explained;
  const share = set.hits / words.n;
  const interval = clopperPearson(set.hits, words.n);
  const change = view.changes.get(keyOf(set.members));
  const whole = set.members.length === words.features.length ? view.words.by_construction : "";
  const shown = conditions(explained, view, set.members);
  const copied = () => sentence(explained, view, set, { interval });
  return (
    <li>
      <span class="share">{percent(share)}{crosses(explained, view, set, tau) && "*"}</span>
      {explained.text && set.members.length ? (
        <Passage explained={explained} members={set.members} />
      ) : (
        <span class="chips">
          {shown.length
            ? shown.map((condition, i) => (
                <span class="chip" title={words.features[set.members[i]!]![2] || undefined}>{condition}</span>
              ))
            : "nothing: it comes about anyway"}
        </span>
      )}
      {!words.one_reference && <Track share={share} interval={interval} n={words.n} />}
      {[set.note, whole, change && !(explained.text && words.one_reference) ? changeTold(explained, change.text, change.cost) : ""].map(
        (note) => note && <span class="note">{note}</span>,
      )}
      <span class="does">
        <CopyButton text={copied} />
        {pick && <button type="button" class="plain try" onClick={pick}>try it</button>}
      </span>
    </li>
  );
}

export function Track({ share, interval, n }: { share: number; interval: readonly [number, number]; n: number }) {
  const said = `${share.toFixed(4)} of ${n} references; marks: 95% interval ${interval[0].toFixed(3)} to ${interval[1].toFixed(3)}`;
  return (
    <svg class="track" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={said}>
      <title>{said}</title>
      <rect class="fill" width={(100 * share).toFixed(2)} height="6" />
      <path class="ends" d={`M${(100 * interval[0]).toFixed(2)} 0v6M${(100 * interval[1]).toFixed(2)} 0v6`} />
    </svg>
  );
}

const NEAR = 60;

/** A text with the words of a set marked; passages far from any mark are left out. */
function Passage({ explained, members }: { explained: Explained; members: readonly number[] }) {
  const { characters, spans } = explained.text!;
  const marks = members.map((member) => spans[member]!).sort((a, b) => a[0] - b[0]);
  const parts = [];
  let at = 0;
  for (const [start, stop] of marks) {
    if (start > at) parts.push(near(characters.slice(at, start).join(""), at > 0, true));
    parts.push(<mark>{characters.slice(Math.max(start, at), stop).join("")}</mark>);
    at = Math.max(at, stop);
  }
  if (at < characters.length) parts.push(near(characters.slice(at).join(""), true, false));
  return <span class="passage">{parts}</span>;
}

function near(text: string, start: boolean, end: boolean): string {
  const flat = text.replace(/\s+/g, " ");
  if (flat.length <= NEAR * 2) return flat;
  const head = start ? `${flat.slice(0, NEAR).replace(/\S*$/, "")}` : "";
  const tail = end ? `${flat.slice(-NEAR).replace(/^\S*/, "")}` : "";
  return `${head}…${tail}`;
}
