/** The explorer's questions, as `/api/openapi.json` describes them. */

export type Scalar = string | number | boolean | null;

export type Test = "is" | "is not" | "at least" | "at most" | "contains" | "is missing";

export interface Condition {
  column: string;
  test: Test;
  value?: Scalar;
}

export interface ColumnFacts {
  name: string;
  kind: "number" | "truth" | "moment" | "text";
  whole: boolean;
  lowest: number | null;
  highest: number | null;
  values: Scalar[] | null;
  missing: boolean;
}

export interface About {
  models: string[];
  rows: number;
  columns: ColumnFacts[];
  features: string[];
  predictions: string[];
  numbers: boolean;
  n_references: number | null;
  graph: Record<string, string[]> | null;
  text: string | null;
}

export interface Page {
  total: number;
  numbers: number[];
  values: Scalar[][];
  predictions: Scalar[];
}

export type Kind = "text" | "share" | "number";

export interface Panel {
  heading: string;
  columns: { heading: string; kind: Kind }[];
  rows: Scalar[][];
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
  says: string;
  cost: number;
  sufficiency: number | null;
  necessity: number | null;
}

export interface Progress {
  progress: number | null;
  what: string;
}

/** A refusal or a fault, as the server says it. */
export class Refused extends Error {}

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

function read<T>(reply: Reply<T>): T {
  if (reply.error) throw new Refused(reply.error.message);
  return reply.answer as T;
}

/** A question that is answered at once. */
export async function ask<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const response = await post(path, body, signal);
  return read((await response.json()) as Reply<T>);
}

/** A question that takes time: lines of progress, and then the answer. */
export async function follow<T>(
  path: string,
  body: unknown,
  signal: AbortSignal,
  heard: (progress: Progress) => void,
): Promise<T> {
  const response = await post(path, body, signal);
  if (!response.ok || !response.body) return read((await response.json()) as Reply<T>);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    rest += value ?? "";
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const told = JSON.parse(line) as Reply<T> & Progress;
      if (told.answer !== undefined || told.error) return read(told);
      heard(told);
    }
    if (done) throw new Refused(GONE);
  }
}
