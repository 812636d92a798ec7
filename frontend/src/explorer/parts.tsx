/** Components and hooks that several parts of the explorer share: answers, sheets, numbers. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { percent } from "../words";
import { faultText, follow, type Cell, type Kind, type Predicted, type Progress, type Scalar, type Sheet } from "./api";

/** A value as `suffice.formatting.format_value` has it. */
export function shown(value: Scalar): string {
  if (value === null) return "missing";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" ? plainNumber(value, 4) : value;
}

/** A prediction as the table and its filter show it. */
export const label = (prediction: Scalar): string =>
  typeof prediction === "boolean" ? (prediction ? "True" : "False") : shown(prediction);

/** A cost or a count. */
export const figure = (value: number): string => plainNumber(value, 3);

function plainNumber(value: number, digits: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

/** A prediction, with how sure the model is of it. */
export function predictionText({ prediction, score }: Predicted): string {
  if (score === null || score.kind === "value") return label(prediction);
  const sure = score.kind === "probability" ? percent(score.value) : `score ${figure(score.value)}`;
  return `${label(prediction)} (${sure})`;
}

export interface Followed<T> {
  /** The answer to the present question; null while it is computed. */
  answer: T | null;
  error: string;
  /** Null: nothing is being computed. */
  progress: Progress | null;
  stop: () => void;
  again: () => void;
}

/** Ask a long question whenever it changes; the request for the one before is cancelled. */
export function useAnswer<T>(path: string, body: object): Followed<T> {
  const key = path + JSON.stringify(body);
  const [turn, setTurn] = useState(0);
  const [found, setFound] = useState<{ key: string; answer: T } | null>(null);
  const [error, setError] = useState("");
  const [progress, setProgress] = useState<Progress | null>(null);
  const request = useRef<AbortController | null>(null);
  useEffect(() => {
    const own = new AbortController();
    request.current = own;
    setError("");
    setFound(null);
    setProgress({ progress: null, what: "", place: null });
    follow<T>(path, body, own.signal, setProgress)
      .then((answer) => {
        setFound({ key, answer });
        setProgress(null);
      })
      .catch((fault: unknown) => {
        if (own.signal.aborted) return;
        setProgress(null);
        setError(faultText(fault));
      });
    return () => own.abort();
  }, [key, turn]);
  return {
    // An answer to another question never stands beside the present one, not even for one frame.
    answer: found?.key === key ? found.answer : null,
    error,
    progress,
    stop: () => {
      request.current?.abort();
      setProgress(null);
      setError("Stopped. Nothing was lost: ask again when you like.");
    },
    again: () => setTurn(turn + 1),
  };
}

function progressText({ what, place }: Progress): string {
  if (place === 1) return "Waiting: next in the queue";
  if (place !== null) return `Waiting: ${place - 1} ${place === 2 ? "question is" : "questions are"} answered first`;
  return what ? `Working: ${what}` : "Working …";
}

/** An answer, or how far it is; the room of the last answer is kept, so that the page stays put. */
export function Waiting({ of, children }: { of: Followed<unknown>; children: ComponentChildren }) {
  const { error, progress, answer, stop, again } = of;
  const place = useRef<HTMLDivElement>(null);
  const height = useRef(0);
  useEffect(() => {
    if (answer !== null) height.current = place.current!.offsetHeight;
  });
  return (
    <div
      ref={place}
      class="waiting"
      aria-busy={progress !== null}
      style={progress !== null && height.current ? { minHeight: `${height.current}px` } : {}}
    >
      {progress !== null && (
        <p class="progress" role="status">
          <progress {...(progress.progress === null ? {} : { value: progress.progress })} max={1} />
          <span>{progressText(progress)}</span>
          <button type="button" onClick={stop}>
            Cancel
          </button>
        </p>
      )}
      {error && (
        <p class="fault" role="alert">
          {error}{" "}
          <button type="button" onClick={again}>
            Ask again
          </button>
        </p>
      )}
      {answer !== null && children}
    </div>
  );
}

/** A cell as `Column.text_of` has it. */
export function cellText(kind: Kind, cell: Cell): string {
  if (cell === null) return "–";
  if (typeof cell === "object") {
    const [low, high] = [cellText(kind, cell.low), cellText(kind, cell.high)];
    const within = kind === "share" ? `${low.replace(/%$/, "")}–${high}` : `${low} to ${high}`;
    return cell.value === null ? within : `${cellText(kind, cell.value)} (${within})`;
  }
  if (typeof cell !== "number" || kind === "text") return shown(cell);
  if (kind === "difference") return `${cell < 0 ? "−" : ""}${Math.round(Math.abs(100 * cell))}`;
  return kind === "share" ? percent(cell) : figure(cell);
}

/** A result's sheet: sentences and tables. */
export function SheetView({ sheet }: { sheet: Sheet }) {
  return (
    <div class="sheet">
      {sheet.lead.map((line) => (
        <p>{line}</p>
      ))}
      {sheet.panels.map((panel) => (
        <div class="scroll">
          <table>
            {panel.heading && <caption><span>{panel.heading}</span></caption>}
            <thead>
              <tr>
                {panel.columns.map((column) => (
                  <th scope="col" class={column.kind === "text" ? "" : "number"}>
                    {column.heading}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {panel.rows.map((row) => (
                <tr>
                  {row.map((cell, j) => {
                    const kind = panel.columns[j]?.kind ?? "text";
                    return <td class={kind === "text" ? "" : "number"}>{cellText(kind, cell)}</td>;
                  })}
                </tr>
              ))}
            </tbody>
          </table>
          {panel.more && <p class="more">{panel.more}</p>}
        </div>
      ))}
      {sheet.notes.map((line) => (
        <p class="note">{line}</p>
      ))}
    </div>
  );
}

export function download(name: string, content: string): void {
  const kind = name.endsWith(".html") ? "text/html" : "text/plain";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: `${kind};charset=utf-8` }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
