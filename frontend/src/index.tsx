/** The one bundle: every explanation in the page answers. The arithmetic can be asked from outside. */

import { mountMany } from "./many";
import { mount } from "./page";

export * from "./arithmetic";
export { answer, firstAsked, pictureOf } from "./asked";
export { read } from "./explained";
export { draw } from "./picture";
export { mount };

if (typeof document !== "undefined") {
  const many = document.querySelector<HTMLElement>(".suffice.many-page");
  if (many) mountMany(many);
  else document.querySelectorAll<HTMLElement>(".suffice[data-live]").forEach(mount);
}
