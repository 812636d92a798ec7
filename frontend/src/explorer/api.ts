/** Requests to the server and the types of its answers, as `/api/openapi.json` describes them. */

export type Scalar = string | number | boolean | null;

export type Test = "is" | "is not" | "at least" | "at most" | "contains" | "is missing";

export interface Condition {
  column: string;
  test: Test;
  value?: Scalar;
}

export interface ColumnFacts {
  name: string;
  kind: "number" | "boolean" | "moment" | "text";
  whole: boolean;
  lowest: number | null;
  highest: number | null;
  values: Scalar[] | null;
  missing: boolean;
}

export interface ModelFacts {
  name: string;
  /** Whether it predicts numbers, which have no list of possible predictions. */
  numbers: boolean;
  predictions: string[];
  features: string[];
  /** Features that the server declares as fixed, each with the reason. */
  fixed: Record<string, string>;
  increasing: string[];
  decreasing: string[];
}

export interface About {
  models: ModelFacts[];
  rows: number;
  columns: ColumnFacts[];
  n_references: number | null;
  graph: Record<string, string[]> | null;
  text: string | null;
}

/** The facts of a model; of the first one if none is named. */
export const modelFacts = (about: About, name: string): ModelFacts =>
  about.models.find((model) => model.name === name) ?? about.models[0]!;

export interface Page {
  total: number;
  numbers: number[];
  values: Scalar[][];
  predictions: Scalar[];
  /** The probability or score of each prediction; null where the model has none. */
  scores: (number | null)[] | null;
}

export interface Score {
  value: number;
  kind: "probability" | "score" | "value";
}

export interface Predicted {
  prediction: Scalar;
  score: Score | null;
}

export type Kind = "text" | "share" | "number" | "difference";

/** A number with the ends of its interval. */
export interface Estimate {
  value: number | null;
  low: number;
  high: number;
}

export type Cell = Scalar | Estimate;

export interface Panel {
  heading: string;
  columns: { heading: string; kind: Kind }[];
  rows: Cell[][];
  more: string;
}

export interface Sheet {
  title: string;
  lead: string[];
  panels: Panel[];
  notes: string[];
}

export interface Option {
  features: string[];
  changes: Record<string, [Scalar, Scalar]>;
  text: string;
  cost: number;
  sufficiency: number | null;
  necessity: number | null;
  /** The necessity expected by chance. */
  necessity_baseline: number | null;
}

export interface Progress {
  progress: number | null;
  what: string;
  /** Place among the questions that wait, from 1; null once this one is computed. */
  place: number | null;
}

/** A refusal or a fault, as the server words it. */
export class Refused extends Error {}

/** The sentence for an error, whether the server sent it or the browser raised it. */
export const faultText = (fault: unknown): string => (fault instanceof Refused ? fault.message : String(fault));

interface Reply<T> {
  answer?: T;
  error?: { message: string };
}

const GONE = "The explorer does not answer. Is `suffice serve` still running?";

async function post(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const init: RequestInit = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  if (signal) init.signal = signal;
  try {
    return await fetch(`/api/${path}`, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused(GONE);
  }
}

function unpack<T>(reply: Reply<T>): T {
  if (reply.error) throw new Refused(reply.error.message);
  return reply.answer as T;
}

/** Ask a question that is answered at once. */
export async function ask<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const response = await post(path, body, signal);
  return unpack((await response.json()) as Reply<T>);
}

/** Ask a question that takes time: lines of progress, and then the answer. */
export async function follow<T>(
  path: string,
  body: unknown,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<T> {
  const response = await post(path, body, signal);
  if (!response.ok || !response.body) return unpack((await response.json()) as Reply<T>);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    rest += value ?? "";
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) {
      const line = JSON.parse(text) as Reply<T> & Progress;
      if (line.answer !== undefined || line.error) return unpack(line);
      onProgress(line);
    }
    if (done) throw new Refused(GONE);
  }
}
