/** The one bundle: every explanation in the page answers, and the explorer explores. The arithmetic can be asked from outside. */

import { explore } from "./explorer/explorer";
import { mount } from "./page";

export * from "./arithmetic";
export { answer, firstAsked, pictureOf } from "./asked";
export { read } from "./explained";
export { draw } from "./picture";
export { mount };

if (typeof document !== "undefined") {
  for (const root of document.querySelectorAll<HTMLElement>(".suffice[data-live]")) mount(root);
  const explorer = document.getElementById("explorer");
  if (explorer) explore(explorer);
}
