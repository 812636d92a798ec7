/** The signature picture of one view as SVG, with columns and rows that react to the pointer. */

import type { Drawing, Mark } from "./picture";
import { COLUMN, ROW, SHORT, TURN } from "./picture";

interface Pointed {
  onColumn?: (column: number) => void;
  onRow?: (row: number) => void;
  onPoint?: (column: number | null) => void;
  /** Rows to be seen; the others are faint. Undefined: all. */
  lit?: ReadonlySet<number> | undefined;
  /** By column: whether the sets must have it or not. */
  marked?: ReadonlyMap<number, string>;
}

export function SetsPicture({ drawing, label, ...pointed }: { drawing: Drawing; label: string } & Pointed) {
  const { width, height, marks, split, half_top: y, has_curve } = drawing;
  const half = (right: boolean, [x, y, wide, high]: readonly number[]) => (
    <svg class={`${right ? "right" : "left"}${wide! <= SHORT ? " short" : ""}`} viewBox={`${x} ${y} ${wide} ${high}`} width={wide} height={high} aria-hidden="true">
      {marks.map((mark) =>
        mark.at[0]! >= split === right ? (
          <One mark={mark} faint={mark.row >= 0 && pointed.lit !== undefined && !pointed.lit.has(mark.row)} marked={pointed.marked} />
        ) : null,
      )}
      <Targets drawing={drawing} right={right} {...pointed} />
    </svg>
  );
  return (
    <div class={has_curve ? "sets curved" : "sets"} role="img" aria-label={label} data-width={width}>
      {half(false, [0, 0, split, height])}
      {half(true, [split, y, width - split, height - y])}
    </div>
  );
}

function One({ mark, faint, marked }: { mark: Mark; faint: boolean; marked: ReadonlyMap<number, string> | undefined }) {
  const { kind, at } = mark;
  const settings = mark.style === "head" ? marked?.get(mark.column) : undefined;
  const style = [mark.style, faint ? "faint" : "", settings ?? ""].filter(Boolean).join(" ");
  if (kind === "line") return <line class={style} x1={at[0]} y1={at[1]} x2={at[2]} y2={at[3]} />;
  if (kind === "path") return <polyline class={style} points={at.join(" ")} />;
  const said = mark.text ? <title>{mark.text}</title> : null;
  if (kind === "dot") {
    return (
      <circle class={style} cx={at[0]} cy={at[1]} r={at[2]}>
        {said}
      </circle>
    );
  }
  if (kind === "box") {
    return (
      <rect class={style} x={at[0]} y={at[1]} width={at[2]} height={at[3]}>
        {said}
      </rect>
    );
  }
  return (
    <text
      class={style}
      x={at[0]}
      y={at[1]}
      {...(mark.anchor === "start" ? {} : { "text-anchor": mark.anchor })}
      {...(mark.rotated ? { transform: `rotate(-${TURN} ${at[0]} ${at[1]})` } : {})}
    >
      {mark.text}
      {mark.title ? <title>{mark.title}</title> : null}
    </text>
  );
}

/** Invisible areas for the pointer. Buttons elsewhere do the same, for the keyboard. */
function Targets({ drawing, right, onColumn, onRow, onPoint }: { drawing: Drawing; right: boolean } & Pointed) {
  const { rows, columns, top, bottom, width, split } = drawing;
  if (!onColumn && !onRow) return null;
  const from = right ? split : (columns[columns.length - 1] ?? 0) + COLUMN / 2;
  return (
    <g class="targets">
      {onRow && rows.map((y, i) => (
        <rect class="target" x={from} y={y - ROW / 2} width={(right ? width : split) - from} height={ROW} data-row={i} onClick={() => onRow(i)}>
          <title>Try this set</title>
        </rect>
      ))}
      {onColumn && !right && columns.map((x, j) => (
        <g
          class="target"
          data-column={j}
          onClick={() => onColumn(j)}
          onMouseEnter={() => onPoint?.(j)}
          onMouseLeave={() => onPoint?.(null)}
        >
          <rect x={x - COLUMN / 2} y={top} width={COLUMN} height={bottom - top} />
          <rect x={x - 4} y={top - 18} width={top} height={18} transform={`rotate(-${TURN} ${x} ${top - 8})`} />
          <title>Require this; again: exclude it; once more: either</title>
        </g>
      ))}
    </g>
  );
}
