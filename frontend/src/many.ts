/** Index of a page of many explanations: search, sort; an explanation becomes live when it is opened. */

import { mount } from "./page";

export function mountMany(page: HTMLElement): void {
  const index = page.querySelector<HTMLElement>("[data-index]");
  if (index) new Index(page, index);
  for (const details of page.querySelectorAll<HTMLDetailsElement>("details.one")) {
    const open = () => {
      const root = details.querySelector<HTMLElement>(".suffice[data-live]");
      if (!details.open || !root || root.dataset["mounted"]) return;
      root.dataset["mounted"] = "yes";
      mount(root);
    };
    details.addEventListener("toggle", open);
    open();
  }
  const follow = () => {
    const details = document.getElementById(location.hash.slice(1))?.closest("details");
    if (!details) return;
    details.open = true;
    details.scrollIntoView();
    details.querySelector("summary")?.focus();
  };
  addEventListener("hashchange", follow);
  page.addEventListener("click", (event) => {
    // The same address once more changes nothing, so it says nothing.
    if ((event.target as Element).closest('a[href^="#e"]')) setTimeout(follow);
  });
  follow();
}

class Index {
  private readonly body: HTMLTableSectionElement;
  private readonly rows: HTMLTableRowElement[];
  private readonly texts: string[];
  private readonly status: HTMLElement;

  constructor(private readonly page: HTMLElement, index: HTMLElement) {
    this.body = index.querySelector("tbody")!;
    this.rows = [...this.body.rows];
    this.texts = this.rows.map((row) => (row.textContent ?? "").toLowerCase());
    this.status = document.createElement("span");
    this.status.setAttribute("role", "status");
    this.status.className = "soft";
    this.offerSearch(index.querySelector<HTMLElement>("[data-slot=search]")!);
    index.querySelectorAll<HTMLTableCellElement>("thead th").forEach((head, column) => this.offerSort(head, column));
  }

  private offerSearch(slot: HTMLElement): void {
    const field = Object.assign(document.createElement("input"), { type: "search" });
    const label = Object.assign(document.createElement("label"), { className: "search" });
    label.append("Search names, outcomes and answers", field);
    field.addEventListener("input", () => this.search(field.value));
    slot.append(label, this.status);
  }

  private search(given: string): void {
    const words = given.toLowerCase().split(/\s+/).filter(Boolean);
    const found = new Set<string>();
    this.rows.forEach((row, i) => {
      row.hidden = !words.every((word) => this.texts[i]!.includes(word));
      if (!row.hidden) found.add(row.dataset["number"]!);
    });
    for (const details of this.page.querySelectorAll<HTMLElement>("details.one")) {
      details.hidden = !found.has(details.dataset["number"]!);
    }
    this.status.textContent = words.length ? `${found.size} of ${this.rows.length}` : "";
  }

  private offerSort(head: HTMLTableCellElement, column: number): void {
    const button = Object.assign(document.createElement("button"), { type: "button" });
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      head.parentElement!.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      this.sort(column, down ? -1 : 1);
    });
  }

  private sort(column: number, direction: 1 | -1): void {
    const key = (row: HTMLTableRowElement) => {
      const cell = row.cells[column]!;
      return cell.dataset["value"] ?? cell.textContent ?? "";
    };
    this.body.append(...[...this.rows].sort((a, b) => inOrder(key(a), key(b), direction)));
  }
}

/** Compare numbers by size and texts by letter; missing values come last in both orders. */
export function inOrder(a: string, b: string, direction: 1 | -1): number {
  if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1;
  const [x, y] = [Number(a), Number(b)];
  if (!Number.isNaN(x) && !Number.isNaN(y)) return direction * (x - y);
  return direction * a.localeCompare(b, "en", { numeric: true });
}
