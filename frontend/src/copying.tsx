/** Copy text to the clipboard, also from a page in a file or in a frame without that permission. */

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByHand(text);
  }
}

/** Copy by a hidden text field, which works where the clipboard API is not allowed. */
function copyByHand(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "suffice-copied";
  document.body.append(field);
  const before = document.activeElement as HTMLElement | null;
  field.select();
  let done = false;
  try {
    done = document.execCommand("copy");
  } catch {
    done = false;
  }
  field.remove();
  before?.focus();
  return done;
}

export function CopyButton({ text, label = "copy as a sentence" }: { text: () => string; label?: string }) {
  const press = async (event: Event) => {
    const button = event.currentTarget as HTMLButtonElement;
    const said = text();
    const done = await copy(said);
    button.textContent = done ? "copied" : said;
    button.dataset["copied"] = said;
    setTimeout(() => (button.textContent = label), done ? 1500 : 15000);
  };
  return <button type="button" class="plain copy" onClick={press}>{label}</button>;
}
