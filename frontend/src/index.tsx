/** The one bundle: every explanation in the page answers. The arithmetic can be asked from outside. */

import { mount } from "./page";

export * from "./arithmetic";
export { answer, firstAsked, pictureOf } from "./asked";
export { read } from "./explained";
export { draw } from "./picture";
export { mount };

if (typeof document !== "undefined") {
  for (const root of document.querySelectorAll<HTMLElement>(".suffice[data-live]")) mount(root);
}
