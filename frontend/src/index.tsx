import { explore } from "./explorer/explorer";
const root = document.getElementById("explorer");
if (root) explore(root);
