/** The explorer: a table of rows, or one row opened. What is shown is in the address. */
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ask, faultText, type About } from "./api";
import { Detail } from "./detail";
import { readState, written, type State } from "./state";
import { Rows } from "./table";

function Explorer() {
  const [about, setAbout] = useState<About | null>(null);
  const [fault, setFault] = useState("");
  const [state, setState] = useState<State>(() => readState(location.search));
  useEffect(() => {
    ask<About>("about", {})
      .then(setAbout)
      .catch((e: unknown) => setFault(faultText(e)));
    const back = () => setState(readState(location.search));
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);
  const go = (changes: Partial<State>) => {
    // As the address has it now: two changes in a row must not undo each other.
    const next = { ...readState(location.search), ...changes };
    const address = location.pathname + written(next);
    // Moving the threshold is no step to go back to.
    if (Object.keys(changes).join() === "tau") history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    setState(next);
  };
  if (fault)
    return (
      <p class="fault" role="alert">
        {fault}
      </p>
    );
  if (!about) return <p role="status">Opening …</p>;
  return state.row < 0 ? (
    <Rows about={about} state={state} go={go} />
  ) : (
    <Detail about={about} state={state} go={go} />
  );
}

export function explore(root: HTMLElement): void {
  render(<Explorer />, root);
}
