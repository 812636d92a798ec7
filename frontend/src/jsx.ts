/** What JSX becomes, in every file: the build injects these names. */
export { Fragment, h } from "preact";
