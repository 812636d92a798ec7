/** One row, opened: its values, why it was decided so, and what would change it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, faultText, follow, type About, type Predicted, type Scalar, type Sheet } from "./api";
import { BesideForm, Comparison, isBeside, otherName, rowName } from "./beside";
import { ChangeForm } from "./changes";
import { ContrastForm } from "./contrast";
import { GraphView } from "./graph";
import { download, predictionText, SheetView, useAnswer, Waiting } from "./parts";
import { RecoursePanel } from "./recourse";
import { ShapleyChart } from "./shapley";
import { basics, input, question, type State, type Tab } from "./state";
import { WhatIf } from "./whatif";
import { mount } from "../page";

interface Props {
  about: About;
  state: State;
  go: (changes: Partial<State>) => void;
}

export function Detail({ about, state, go }: Props) {
  const beside = isBeside(state);
  const otherRow = state.otherRow >= 0 ? state.otherRow : state.row;
  const otherModel = state.otherModel || state.model;
  const own = useRow(about, state.row);
  const other = useRow(about, otherRow);
  const predicted = usePredicted(state, state.row, state.model);
  const otherPredicted = usePredicted(state, otherRow, otherModel);
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
        {rowName(state)}: <span class="predicted">{predicted ? predictionText(predicted) : "…"}</span>
      </h2>
      {about.text ? (
        <TextEdit about={about} state={state} own={own} go={go} />
      ) : (
        own && <WhatIf about={about} state={state} own={own} go={go} />
      )}
      <ContrastForm about={about} state={state} go={go} />
      {!about.text && <ChangeForm about={about} state={state} go={go} />}
      <BesideForm about={about} state={state} go={go} />
      {beside && (
        <Comparison
          about={about}
          state={state}
          own={own}
          // The same row by another model has the changed values, too.
          other={otherRow === state.row ? own && { ...own, ...state.values } : other}
          predicted={predicted}
          otherPredicted={otherPredicted}
        />
      )}
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
      <div id="answers" role="tabpanel" aria-labelledby={`tab-${state.tab}`} class={beside ? "two" : ""}>
        <div>
          {beside && <h3>{rowName(state)}{state.model && state.otherModel && `, by ${state.model}`}</h3>}
          <Answer about={about} state={state} go={go} row={state.row} model={state.model} />
        </div>
        {beside && (
          <div class="other">
            <h3>
              {otherName(state)}: {otherPredicted ? predictionText(otherPredicted) : "…"}
            </h3>
            <Answer about={about} state={state} go={go} row={otherRow} model={otherModel} />
          </div>
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
  if (state.tab === "recourse")
    return <RecoursePanel state={state} go={go} row={row} model={model} />;
  if (state.tab === "graph" && about.graph) return <GraphView graph={about.graph} state={state} />;
  if (state.tab === "shapley") return <ShapleyChart settings={basics(state, row, model)} />;
  if (state.tab === "rules") {
    const settings = { ...basics(state, row, model), tau: state.settings, max_size: state.size || null };
    return <Rules settings={settings} />;
  }
  return <Why settings={question(state, row, model)} state={state} go={go} />;
}

function Why({ settings, state, go }: { settings: object; state: State; go: Props["go"] }) {
  const found = useAnswer<{ html: string }>("explain", settings);
  return (
    <Waiting of={found}>
      {found.answer && <Explanation html={found.answer.html} tau={state.tau} go={go} />}
    </Waiting>
  );
}

/** An explanation as the server wrote it, taken over by the same script as in a saved page. */
function Explanation({ html, tau, go }: { html: string; tau: number; go: Props["go"] }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const at = place.current!;
    at.innerHTML = html;
    const root = at.querySelector<HTMLElement>(".suffice[data-live]");
    if (root) mount(root, tau ? { tau } : {}, (change) => change.tau !== undefined && go({ tau: change.tau }));
  }, [html]);
  return <div ref={place} />;
}

function Rules({ settings }: { settings: object }) {
  const found = useAnswer<{ sheet: Sheet }>("rules", settings);
  return <Waiting of={found}>{found.answer && <SheetView sheet={found.answer.sheet} />}</Waiting>;
}

function Exports({ state }: { state: State }) {
  const [fault, setFault] = useState("");
  const save = (kind: string) => {
    setFault("");
    follow<{ name: string; content: string }>(
      `export/${kind}`,
      { ...question(state), tau: state.tau || state.settings },
      new AbortController().signal,
      () => undefined,
    )
      .then((file) => download(file.name, file.content))
      .catch((e: unknown) => setFault(faultText(e)));
  };
  return (
    <p class="tools">
      Save the explanation as{" "}
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
      The text; change it to see what the model would predict then
      <textarea rows={5} value={text} onChange={(e) => go({ text: e.currentTarget.value })} />
    </label>
  );
}

/** The values of a row of the table. */
function useRow(about: About, row: number): Record<string, Scalar> | null {
  const [found, setFound] = useState<{ row: number; values: Record<string, Scalar> } | null>(null);
  useEffect(() => {
    const request = new AbortController();
    ask<Record<string, Scalar>>("row", { row }, request.signal)
      .then((values) => setFound({ row, values }))
      .catch(() => setFound(null));
    return () => request.abort();
  }, [row, about]);
  return found?.row === row ? found.values : null;
}

function usePredicted(state: State, row: number, model: string): Predicted | null {
  const body = { input: input(state, row), model: model || null };
  const key = JSON.stringify(body);
  const [found, setFound] = useState<{ key: string; predicted: Predicted } | null>(null);
  useEffect(() => {
    const request = new AbortController();
    ask<Predicted>("predict", body, request.signal)
      .then((predicted) => setFound({ key, predicted }))
      .catch(() => {
        if (!request.signal.aborted) setFound(null);
      });
    return () => request.abort();
  }, [key]);
  return found?.key === key ? found.predicted : null;
}
