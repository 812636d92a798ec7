/** One row, opened: its values, why it was decided so, and what would change it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, follow, Refused, type About, type Scalar, type Sheet } from "./api";
import { ContrastForm } from "./contrast";
import { GraphView } from "./graph";
import { download, label, SheetView, useAnswer, Waiting } from "./parts";
import { RecoursePanel } from "./recourse";
import { input, question, type State, type Tab } from "./state";
import { WhatIf } from "./whatif";
import { mount } from "../page";

interface Props {
  about: About;
  state: State;
  go: (changes: Partial<State>) => void;
}

interface Score {
  probability?: number | null;
}

interface Predicted {
  prediction: Scalar;
  score: Score | null;
}

export function Detail({ about, state, go }: Props) {
  const own = useOwn(about, state);
  const predicted = usePredicted(state, state.row, state.model);
  const other = state.otherRow >= 0 || state.otherModel !== "";
  const tabs: [Tab, string][] = [
    ["explanation", "Why"],
    ...(about.text
      ? []
      : ([
          ["recourse", "What to change"],
          ["shapley", "Shapley values"],
          ["rules", "Rules"],
        ] as [Tab, string][])),
    ...(about.graph ? ([["graph", "Causes"]] as [Tab, string][]) : []),
  ];
  return (
    <section aria-label={`Row ${state.row}`} class="detail">
      <p>
        <button type="button" onClick={() => go({ row: -1, values: {}, text: "" })}>
          ← All rows
        </button>
      </p>
      <h2>
        Row {state.row}
        {Object.keys(state.values).length > 0 && ", changed"}:{" "}
        <span class="predicted">{predicted ? label(predicted.prediction) : "…"}</span>
      </h2>
      {about.text ? (
        <TextEdit about={about} state={state} own={own} go={go} />
      ) : (
        own && <WhatIf about={about} state={state} own={own} go={go} />
      )}
      <ContrastForm about={about} state={state} go={go} />
      <Beside about={about} state={state} go={go} />
      <div class="tabs" role="tablist" aria-label="Answers">
        {tabs.map(([tab, words]) => (
          <button
            type="button"
            role="tab"
            id={`tab-${tab}`}
            aria-selected={state.tab === tab}
            aria-controls="answers"
            tabIndex={state.tab === tab ? 0 : -1}
            onClick={() => go({ tab })}
            onKeyDown={(e) => {
              const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
              if (!step) return;
              const at = tabs.findIndex(([t]) => t === tab);
              const next = tabs[(at + step + tabs.length) % tabs.length]![0];
              go({ tab: next });
              document.getElementById(`tab-${next}`)?.focus();
            }}
          >
            {words}
          </button>
        ))}
      </div>
      <div id="answers" role="tabpanel" aria-labelledby={`tab-${state.tab}`} class={other ? "two" : ""}>
        <Answer about={about} state={state} go={go} row={state.row} model={state.model} />
        {other && (
          <Other about={about} state={state} go={go} />
        )}
      </div>
      <Exports state={state} />
    </section>
  );
}

interface AnswerProps extends Props {
  row: number;
  model: string;
}

function Answer({ about, state, go, row, model }: AnswerProps) {
  const asked = question(state, row, model);
  if (state.tab === "recourse") return <RecoursePanel about={about} state={state} go={go} />;
  if (state.tab === "graph" && about.graph) return <GraphView graph={about.graph} state={state} />;
  if (state.tab === "shapley") return <Told path="shapley" asked={withoutSearch(asked)} />;
  if (state.tab === "rules") return <Told path="rules" asked={asked} />;
  return <Why asked={asked} state={state} go={go} />;
}

/** The question without the arguments of a search, which Shapley values do not have. */
function withoutSearch({ tau: _, max_size: __, ...rest }: ReturnType<typeof question>): object {
  return rest;
}

function Why({ asked, state, go }: { asked: object; state: State; go: Props["go"] }) {
  const found = useAnswer<{ html: string; movable: boolean }>("explain", asked);
  return (
    <Waiting of={found}>
      {found.answer && <Piece html={found.answer.html} tau={state.tau} go={go} />}
    </Waiting>
  );
}

/** What the server wrote of an explanation, taken over by the same script as in a page. */
function Piece({ html, tau, go }: { html: string; tau: number; go: Props["go"] }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const at = place.current!;
    at.innerHTML = html;
    const root = at.querySelector<HTMLElement>(".suffice[data-live]");
    if (root) mount(root, tau ? { tau } : {}, (change) => change.tau !== undefined && go({ tau: change.tau }));
  }, [html]);
  return <div ref={place} />;
}

function Told({ path, asked }: { path: string; asked: object }) {
  const found = useAnswer<{ sheet: Sheet }>(path, asked);
  return <Waiting of={found}>{found.answer && <SheetView sheet={found.answer.sheet} />}</Waiting>;
}

function Other({ about, state, go }: Props) {
  const row = state.otherRow >= 0 ? state.otherRow : state.row;
  const model = state.otherModel || state.model;
  const predicted = usePredicted(state, row, model);
  return (
    <div class="other">
      <h3>
        {state.otherRow >= 0 ? `Row ${row}` : "The same row"}
        {state.otherModel && `, by ${state.otherModel}`}: {predicted ? label(predicted.prediction) : "…"}
      </h3>
      <Answer about={about} state={state} go={go} row={row} model={model} />
    </div>
  );
}

function Beside({ about, state, go }: Props) {
  return (
    <details class="beside" open={state.otherRow >= 0 || state.otherModel !== ""}>
      <summary>Beside another</summary>
      <form class="tools" onSubmit={(e) => e.preventDefault()}>
        <label>
          Row{" "}
          <input
            type="number"
            min={0}
            max={about.rows - 1}
            value={state.otherRow < 0 ? "" : state.otherRow}
            onChange={(e) =>
              go({ otherRow: e.currentTarget.value === "" ? -1 : Number(e.currentTarget.value) })
            }
          />
        </label>
        {about.models.length > 1 && (
          <label>
            Model{" "}
            <select
              value={state.otherModel}
              onChange={(e) => go({ otherModel: e.currentTarget.value })}
            >
              <option value="">the same</option>
              {about.models.map((name) => (
                <option>{name}</option>
              ))}
            </select>
          </label>
        )}
        <button type="button" onClick={() => go({ otherRow: -1, otherModel: "" })}>
          Only this one
        </button>
      </form>
    </details>
  );
}

function Exports({ state }: { state: State }) {
  const [fault, setFault] = useState("");
  const save = (kind: string) => {
    setFault("");
    follow<{ name: string; content: string }>(
      `export/${kind}`,
      { ...question(state), tau: state.tau || state.asked },
      new AbortController().signal,
      () => undefined,
    )
      .then((file) => download(file.name, file.content))
      .catch((e: unknown) => setFault(e instanceof Refused ? e.message : String(e)));
  };
  return (
    <p class="tools">
      Take it along:{" "}
      <button type="button" onClick={() => save("page")}>
        page
      </button>
      <button type="button" onClick={() => save("json")}>
        JSON
      </button>
      <button type="button" onClick={() => save("code")}>
        notebook code
      </button>
      {fault && <span class="fault">{fault}</span>}
    </p>
  );
}

interface TextProps extends Props {
  own: Record<string, Scalar> | null;
}

function TextEdit({ about, state, own, go }: TextProps) {
  const text = state.text || String(own?.[about.text ?? ""] ?? "");
  return (
    <label class="text">
      The text; change it to see what the model would say then
      <textarea rows={5} value={text} onChange={(e) => go({ text: e.currentTarget.value })} />
    </label>
  );
}

function useOwn(about: About, state: State): Record<string, Scalar> | null {
  const [own, setOwn] = useState<Record<string, Scalar> | null>(null);
  useEffect(() => {
    const line = new AbortController();
    ask<Record<string, Scalar>>("row", { row: state.row }, line.signal)
      .then(setOwn)
      .catch(() => setOwn(null));
    return () => line.abort();
  }, [state.row, about]);
  return own;
}

function usePredicted(state: State, row: number, model: string): Predicted | null {
  const [found, setFound] = useState<Predicted | null>(null);
  const body = { input: input(state, row), model: model || null };
  useEffect(() => {
    const line = new AbortController();
    ask<Predicted>("predict", body, line.signal)
      .then(setFound)
      .catch(() => {
        if (!line.signal.aborted) setFound(null);
      });
    return () => line.abort();
  }, [JSON.stringify(body)]);
  return found;
}
