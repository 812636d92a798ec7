/** Entry of the one bundle: makes explanations of a page live, or starts the explorer. Exports the arithmetic for tests. */

import { explore } from "./explorer/explorer";
import { mountMany } from "./many";
import { mount } from "./page";

export * from "./arithmetic";
export { answer, firstAsked, pictureOf } from "./settings";
export { read } from "./explanation";
export { draw } from "./picture";
export { necessity as necessitySentence } from "./sentences";
export { mount };

if (typeof document !== "undefined") {
  const many = document.querySelector<HTMLElement>(".suffice.many-page");
  if (many) mountMany(many);
  else document.querySelectorAll<HTMLElement>(".suffice[data-live]").forEach((root) => mount(root));
  const explorer = document.getElementById("explorer");
  if (explorer) explore(explorer);
}
