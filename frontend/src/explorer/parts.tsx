/** Small pieces that several rooms of the explorer share. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { percent } from "../words";
import { follow, Refused, type Kind, type Progress, type Scalar, type Sheet } from "./api";

/** A value as `suffice.formatting.format_value` has it. */
export function shown(value: Scalar): string {
  if (value === null) return "missing";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" ? plainNumber(value, 4) : value;
}

/** A prediction, by the name that the page and the filter have for it. */
export const label = (prediction: Scalar): string =>
  typeof prediction === "boolean" ? (prediction ? "True" : "False") : shown(prediction);

/** A cost or a count. */
export const figure = (value: number): string => plainNumber(value, 3);

function plainNumber(value: number, digits: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

export interface Followed<T> {
  answer: T | null;
  error: string;
  /** Null: nothing is being worked out. */
  progress: Progress | null;
  stop: () => void;
  again: () => void;
}

/** Ask a long question whenever it changes; the one before is hung up on. */
export function useAnswer<T>(path: string, body: object | null): Followed<T> {
  const key = body === null ? "" : path + JSON.stringify(body);
  const [turn, setTurn] = useState(0);
  const [answer, setAnswer] = useState<T | null>(null);
  const [error, setError] = useState("");
  const [progress, setProgress] = useState<Progress | null>(null);
  const [line, setLine] = useState<AbortController | null>(null);
  useEffect(() => {
    if (body === null) {
      setAnswer(null);
      setProgress(null);
      return undefined;
    }
    const own = new AbortController();
    setLine(own);
    setError("");
    setProgress({ progress: null, what: "" });
    follow<T>(path, body, own.signal, setProgress)
      .then((found) => {
        setAnswer(() => found);
        setProgress(null);
      })
      .catch((fault: unknown) => {
        if (own.signal.aborted) return;
        setAnswer(null);
        setProgress(null);
        setError(fault instanceof Refused ? fault.message : String(fault));
      });
    return () => own.abort();
  }, [key, turn]);
  return {
    answer,
    error,
    progress,
    stop: () => {
      line?.abort();
      setProgress(null);
      setError("Stopped. Nothing was lost: ask again when you like.");
    },
    again: () => setTurn(turn + 1),
  };
}

export function Waiting({ of, children }: { of: Followed<unknown>; children: ComponentChildren }) {
  const { error, progress, answer, stop, again } = of;
  return (
    <div class="waiting" aria-busy={progress !== null}>
      {progress !== null && (
        <p class="progress" role="status">
          <progress {...(progress.progress === null ? {} : { value: progress.progress })} max={1} />
          <span>{progress.what ? `Working: ${progress.what}` : "Working …"}</span>
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
      {answer !== null && <div class={progress ? "old" : ""}>{children}</div>}
    </div>
  );
}

function inColumn(kind: Kind, cell: Scalar): string {
  if (cell === null) return "–";
  if (typeof cell !== "number" || kind === "text") return shown(cell);
  return kind === "share" ? percent(cell) : figure(cell);
}

/** Any result in words and tables. */
export function SheetView({ sheet }: { sheet: Sheet }) {
  return (
    <div class="sheet">
      {sheet.lead.map((line) => (
        <p>{line}</p>
      ))}
      {sheet.panels.map((panel) => (
        <div class="scroll">
          <table>
            {panel.heading && <caption>{panel.heading}</caption>}
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
                    return <td class={kind === "text" ? "" : "number"}>{inColumn(kind, cell)}</td>;
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
