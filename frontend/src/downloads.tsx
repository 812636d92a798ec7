/** Downloads: the picture as SVG or PNG, the sets as CSV, the stored explanation as JSON. */

import { clopperPearson } from "./arithmetic";
import type { Answer, Settings } from "./settings";
import { type Explained, keyOf } from "./explanation";

interface Offered {
  explained: Explained;
  answers: readonly Answer[];
  settings: Settings;
  /** The text that `Explanation.from_json` reads; null where it is too long for a page. */
  stored: string | null;
  root: HTMLElement;
}

export function Downloads({ explained, answers, stored, root }: Offered) {
  const svg = () => pictureText(root);
  const drawn = !explained.words.one_reference && explained.words.takes_over;
  return (
    <p class="downloads">
      <span class="soft">Download</span>
      {drawn && <button type="button" class="plain" onClick={() => save("explanation.svg", "image/svg+xml", svg())}>SVG</button>}
      {drawn && <button type="button" class="plain" onClick={() => savePng(svg())}>PNG</button>}
      <button type="button" class="plain" onClick={() => save("sets.csv", "text/csv", table(explained, answers))}>CSV</button>
      {stored !== null && (
        <button type="button" class="plain" onClick={() => save("explanation.json", "application/json", stored)}>JSON</button>
      )}
    </p>
  );
}

function save(name: string, type: string, content: string | Blob): void {
  const link = document.createElement("a");
  const blob = typeof content === "string" ? new Blob([content], { type: `${type};charset=utf-8` }) : content;
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// -- the sets ----------------------------------------------------------------------------------

const HEADINGS =
  "view,outcome,features,size,sufficiency,low,high,n,minimal_above,minimal_up_to,cost,change";

/** CSV of the sets shown, with the columns of Python's `to_frame`. */
export function table({ words }: Explained, answers: readonly Answer[]): string {
  const rows = answers.flatMap(({ view, sets }) =>
    sets.map(({ set, low, high }) => {
      const [from, to] = clopperPearson(set.hits, words.n);
      const change = view.changes.get(keyOf(set.members));
      const features = set.members.map((feature) => words.features[feature]![0]).join("; ");
      return [
        view.words.name, view.words.outcome, features, set.members.length, set.hits / words.n,
        from, to, words.n, low, high, change?.cost ?? "", change?.text ?? "",
      ].map(cell).join(",");
    }),
  );
  return [HEADINGS, ...rows, ""].join("\r\n");
}

/** A CSV cell that no spreadsheet reads as a formula; the starts are those of Python's `as_csv`. */
export function cell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const guarded = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

// -- the picture --------------------------------------------------------------------------------

const TITLE = 34;
const COLOURS = { keep: "#0069a5", flip: "#b34a00" } as const;

/** Style of a picture in light colours, with variables replaced: a file of its own has none. */
const STYLE: [selectors: string[], rules: string][] = [
  [["text"], 'fill:#5b6575;font:11px system-ui,"Segoe UI","DejaVu Sans",sans-serif'],
  [[".head", ".number.on", "text.tau"], "fill:#1c2330"],
  [[".group", ".title"], "font-weight:600"],
  [[".grid"], "stroke:#d9dee7"],
  [["line.tau"], "stroke:#1c2330;stroke-width:1.4;stroke-dasharray:4 3"],
  [[".join"], "stroke:TONE;stroke-width:3;opacity:.5"],
  [[".in"], "fill:#fff;stroke:TONE;stroke-width:2"],
  [[".in.on"], "fill:TONE"],
  [[".out"], "stroke:#d9dee7;stroke-width:4;stroke-linecap:round;stroke-dasharray:0 22"],
  [[".share", ".bar"], "fill:TONE;opacity:.4"],
  [[".on"], "opacity:1"],
  [[".whisker"], "fill:none;stroke:#1c2330;stroke-width:1.2"],
  [[".chance"], "fill:none;stroke:TONE;stroke-width:1;stroke-dasharray:2 2"],
  [[".step"], "fill:none;stroke:TONE;stroke-width:2"],
  [["text.heading"], "font-size:16px;font-weight:700;fill:TONE"],
];

const styleOf = (view: string, tone: string): string =>
  STYLE.map(([selectors, rules]) => {
    const scoped = selectors.map((selector) => `.${view} ${selector}`).join();
    return `${scoped}{${rules.replaceAll("TONE", tone)}}`;
  }).join("");

/** SVG file with the pictures of the views shown, one above the other. */
export function pictureText(root: HTMLElement): string {
  const parts: string[] = [];
  let [width, height] = [0, 0];
  for (const section of root.querySelectorAll<HTMLElement>("section[data-view]:not([hidden])")) {
    const left = section.querySelector<SVGSVGElement>(".sets .left");
    const right = section.querySelector<SVGSVGElement>(".sets .right");
    if (!left || !right) continue;
    // Both halves are drawn in the coordinates of the whole.
    const copy = left.cloneNode(true) as SVGSVGElement;
    right.childNodes.forEach((mark) => copy.append(mark.cloneNode(true)));
    const [wide, high] = [left.parentElement!.dataset["width"]!, left.getAttribute("height")!];
    copy.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    copy.setAttribute("width", wide);
    copy.querySelectorAll(".targets").forEach((target) => target.remove());
    copy.setAttribute("y", String(height + TITLE));
    const inner = new XMLSerializer().serializeToString(copy);
    const title = escaped(section.querySelector("h2")?.textContent ?? "");
    // In one file each view has its own colour in place of the page's variable.
    parts.push(`<g class="${section.dataset["view"]}"><text class="heading" x="12" y="${height + 24}">${title}</text>${inner}</g>`);
    width = Math.max(width, Number(wide));
    height += TITLE + Number(high);
  }
  const styles = Object.entries(COLOURS).map(([view, tone]) => styleOf(view, tone)).join("");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"><style>${styles}</style><rect width="100%" height="100%" fill="#fff"/>${parts.join("")}</svg>`;
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const SCALE = 2;

function savePng(svg: string): void {
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width * SCALE, image.height * SCALE];
    const context = canvas.getContext("2d")!;
    context.scale(SCALE, SCALE);
    context.drawImage(image, 0, 0);
    canvas.toBlob((blob) => blob && save("explanation.png", "image/png", blob));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}
