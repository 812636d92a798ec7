/** The causal graph: causes above their effects; effects of changed values are marked. */
import type { State } from "./state";

interface Props {
  /** By node: its causes. */
  graph: Record<string, string[]>;
  state: State;
}

const WIDTH = 150;
const HEIGHT = 74;

export function GraphView({ graph, state }: Props) {
  const depth = new Map<string, number>();
  const deep = (node: string): number => {
    const known = depth.get(node);
    if (known !== undefined) return known;
    const found = Math.max(0, ...(graph[node] ?? []).map((cause) => deep(cause) + 1));
    depth.set(node, found);
    return found;
  };
  Object.keys(graph).forEach(deep);
  const levels: string[][] = [];
  for (const [node, at] of depth) (levels[at] ??= []).push(node);
  const widest = Math.max(...levels.map((level) => level.length));
  const place = new Map<string, [number, number]>();
  levels.forEach((level, y) =>
    level.forEach((node, i) =>
      place.set(node, [
        // Levels are shifted a little, so that an edge past one does not hide behind its nodes.
        WIDTH * (i + 0.5 + (widest - level.length) / 2) + (widest > 1 ? (y % 2 ? 14 : -14) : 0),
        HEIGHT * (y + 0.5),
      ]),
    ),
  );
  const changed = new Set(Object.keys(state.values));
  const follows = new Set<string>();
  for (const level of levels)
    for (const node of level)
      if (!changed.has(node) && graph[node]!.some((c) => changed.has(c) || follows.has(c)))
        follows.add(node);
  const box = (node: string) => (changed.has(node) ? "set" : follows.has(node) ? "follows" : "");
  const edges = Object.entries(graph).flatMap(([node, causes]) =>
    causes.map((cause) => [cause, node] as const),
  );
  return (
    <figure class="graph">
      <div class="scroll">
        <svg
          viewBox={`-20 0 ${WIDTH * widest + 40} ${HEIGHT * levels.length}`}
          style={{
            minWidth: `${Math.min(WIDTH * widest, 640)}px`,
            maxWidth: `${1.2 * (WIDTH * widest + 40)}px`,
          }}
          role="img"
          aria-label={`Causal graph. ${edges.map(([a, b]) => `${a} acts on ${b}`).join("; ")}.`}
        >
          <defs>
            <marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">
              <path d="M0 0L8 4L0 8z" />
            </marker>
          </defs>
          {edges.map(([cause, effect]) => {
            const [x1, y1] = place.get(cause)!;
            const [x2, y2] = place.get(effect)!;
            const end = y2 - 17;
            return (
              <path
                class="edge"
                marker-end="url(#tip)"
                d={`M${x1} ${y1 + 16}C${x1} ${(y1 + end) / 2 + 8} ${x2} ${(y1 + end) / 2 - 8} ${x2} ${end}`}
              />
            );
          })}
          {[...place].map(([node, [x, y]]) => (
            <g class={`node ${box(node)}`}>
              <title>{node}</title>
              <rect x={x - 62} y={y - 15} width={124} height={30} rx={6} />
              <text x={x} y={y + 4} text-anchor="middle">
                {node.length > 17 ? `${node.slice(0, 16)}…` : node}
              </text>
            </g>
          ))}
        </svg>
      </div>
      <figcaption>
        {changed.size
          ? `Changed: ${[...changed].join(", ")}. ` +
            (follows.size ? `Affected: ${[...follows].join(", ")}.` : "The graph has no effects of it.")
          : "Causes stand above their effects. Change a value to see what it affects."}
      </figcaption>
    </figure>
  );
}
