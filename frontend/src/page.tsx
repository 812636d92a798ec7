/** One live explanation: reads the JSON in the page, and fills the slots of its template. */

import { type ComponentChild, render } from "preact";
import { answer, type Settings, firstAsked } from "./settings";
import { type Change, Marks, Shown, Sorted, Test, Threshold } from "./controls";
import { Downloads } from "./downloads";
import { type Explained, read, type Stored, type Words } from "./explanation";
import { Picked } from "./Picked";
import { status } from "./sentences";
import { ViewSets } from "./ViewSets";

/**
 * Take over a page's explanation; what cannot be read stays as it is.
 *
 * `from` has the first settings, if they are not those of the explanation; `heard` is called
 * with every change.
 */
export function mount(root: HTMLElement, from: Partial<Settings> = {}, heard: Change = () => undefined): void {
  const words = root.querySelector("script[data-words]")?.textContent;
  if (!words) return;
  const stored = root.querySelector("script[data-stored]")?.textContent ?? null;
  const counts = stored ?? root.querySelector("script[data-counts]")?.textContent ?? null;
  const explained = read(JSON.parse(words) as Words, counts === null ? null : (JSON.parse(counts) as Stored));
  new Page(root, explained, stored, from, heard).paint();
}

class Page {
  private settings: Settings;
  private pointed: number | null = null;
  private readonly slots = new Map<string, HTMLElement>();

  constructor(
    private readonly root: HTMLElement,
    private readonly explained: Explained,
    private readonly stored: string | null,
    from: Partial<Settings>,
    private readonly heard: Change,
  ) {
    this.settings = { ...firstAsked(explained), ...from };
    for (const name of ["threshold", "controls", "picked"]) {
      const slot = root.querySelector<HTMLElement>(`[data-slot=${name}]`);
      if (slot) this.slots.set(name, slot);
    }
    if (!explained.words.takes_over) return;
    for (const view of explained.views) {
      const slot = root.querySelector<HTMLElement>(`section[data-view=${view.words.name}] [data-slot=sets]`);
      if (!slot) continue;
      slot.replaceChildren();
      this.slots.set(view.words.name, slot);
    }
  }

  private readonly change: Change = (change) => {
    this.settings = { ...this.settings, ...change };
    this.paint();
    this.heard(change);
  };

  private readonly point = (feature: number | null): void => {
    this.pointed = feature;
    this.paint();
  };

  paint(): void {
    const { explained, settings, change, pointed, point, root } = this;
    const shown = explained.views.filter(({ words }) => settings.show === "both" || settings.show === words.name);
    const answers = shown.map((view) => answer(explained, view, settings));
    for (const section of root.querySelectorAll<HTMLElement>("section[data-view]")) {
      section.hidden = settings.show !== "both" && section.dataset["view"] !== settings.show;
    }
    root.classList.toggle("settings-otherwise", settings.tau !== explained.words.tau || settings.alpha !== explained.words.alpha);
    for (const given of answers) {
      const props = { explained, given, settings, change, pointed, point };
      this.fill(given.view.words.name, <ViewSets {...props} />);
    }
    this.fill("picked", <Picked explained={explained} settings={settings} change={change} />);
    const takesOver = explained.words.takes_over;
    const movable = takesOver && explained.views.some((view) => view.movable);
    const fixedTau = explained.views.find((view) => view.words.fixed_tau_reason)?.words.fixed_tau_reason;
    this.fill(
      "threshold",
      <div class="threshold-bar">
        {movable && <Threshold settings={settings} change={change} />}
        {takesOver && fixedTau && <p class="note">{fixedTau}</p>}
        {takesOver && <p class="status" role="status">{status(explained, answers, settings)}</p>}
      </div>,
    );
    this.fill(
      "controls",
      <div class="controls">
        {movable && !fixedTau && <Test explained={explained} settings={settings} change={change} />}
        {explained.views.length > 1 && <Shown settings={settings} change={change} />}
        {takesOver && <Sorted explained={explained} settings={settings} change={change} />}
        <Downloads explained={explained} answers={answers} settings={settings} stored={this.stored} root={root} />
        {takesOver && <Marks explained={explained} settings={settings} change={change} />}
      </div>,
    );
  }

  private fill(name: string, content: ComponentChild): void {
    const slot = this.slots.get(name);
    if (slot) render(content, slot);
  }
}
