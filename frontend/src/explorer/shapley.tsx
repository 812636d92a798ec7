/** Shapley values as a chart: a bar for each feature, from zero to what it adds. */
import type { Sheet } from "./api";
import { useAnswer, Waiting } from "./parts";

interface Found {
  values: Record<string, number>;
  base: number;
  everything: number;
  sheet: Sheet;
}

const MOST = 30;

/** A value with three decimals and its sign, as in the sentence above the chart. */
const signed = (value: number): string => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;

export function ShapleyChart({ settings }: { settings: object }) {
  const found = useAnswer<Found>("shapley", settings);
  return <Waiting of={found}>{found.answer && <Chart {...found.answer} />}</Waiting>;
}

function Chart({ values, sheet }: Found) {
  const ranked = Object.entries(values).sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
  const lowest = Math.min(0, ...ranked.map(([, value]) => value));
  const span = Math.max(0, ...ranked.map(([, value]) => value)) - lowest || 1;
  const left = ranked.slice(MOST);
  return (
    <div class="sheet">
      <h3>{sheet.title}</h3>
      {sheet.lead.map((line) => (
        <p>{line}</p>
      ))}
      <div class="scroll" tabIndex={0} role="region" aria-label="Chart of Shapley values">
      <table class="chart">
        <thead>
          <tr>
            <th scope="col">feature</th>
            <th scope="col" class="number">
              adds
            </th>
            <th scope="col">
              <span class="unseen">chart</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {ranked.slice(0, MOST).map(([name, value]) => (
            <tr>
              <th scope="row">{name}</th>
              <td class="number">{signed(value)}</td>
              <td>
                {/* The number stands beside it, so the bar says nothing of its own. */}
                <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                  <rect
                    class={value < 0 ? "below" : "above"}
                    x={(100 * (Math.min(value, 0) - lowest)) / span}
                    width={(100 * Math.abs(value)) / span}
                    y={1}
                    height={8}
                  />
                  <path d={`M${(-100 * lowest) / span} 0v10`} />
                </svg>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      </div>
      {left.length > 0 && (
        <p class="more">
          and {left.length} more, each of at most {Math.abs(left[0]![1]).toFixed(3)}
        </p>
      )}
      {sheet.notes.map((line) => (
        <p class="note">{line}</p>
      ))}
    </div>
  );
}
