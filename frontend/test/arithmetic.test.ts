import assert from "node:assert/strict";
import { test } from "node:test";
import * as a from "../src/arithmetic";

/** Two features: alone 5 and 9 of 10, together 8. */
const COUNTS: a.Counts = { d: 2, n: 10, hits: Int32Array.of(0, 5, 9, 8), largest: 2, weights: [1, 1, 1] };

test("a set is minimal between the best inside it and itself", () => {
  const ladder = a.climb(COUNTS);
  assert.deepEqual([...ladder.below], [0, 0, 0, 9]);
  assert.deepEqual([...ladder.reach], [0, 5, 9, 9]);
  const bars = a.barsOf(COUNTS, ladder);
  const share = a.levelOf(10, null, "none", new Map());
  assert.deepEqual(a.minimalAt(bars, share, 0.5).map((bar) => bar.members), [[1], [0]]);
  assert.deepEqual(a.minimalAt(bars, share, 0.8).map((bar) => bar.members), [[1]]);
});

test("necessity is what the closure of the minimal sets covers", () => {
  const mass = a.massOf(COUNTS, a.climb(COUNTS));
  const share = a.levelOf(10, null, "none", new Map());
  assert.equal(a.necessityAt(mass, share, 0.8), 17 / 22);
  assert.deepEqual(a.curveOf(mass, share), [[0.5, 1], [0.9, 17 / 22]]);
  assert.equal(a.necessityAt([], share, 0.8), null);
});

test("replacing is holding the rest", () => {
  assert.deepEqual([...a.mirrored(COUNTS).hits], [2, 1, 5, 10]);
});

test("exact intervals at the ends", () => {
  assert.equal(a.clopperPearson(0, 10)[0], 0);
  assert.equal(a.clopperPearson(10, 10)[1], 1);
  assert.ok(Math.abs(a.clopperPearson(0, 10)[1] - 0.30849710781876083) < 1e-12);
  assert.ok(Math.abs(a.lowerBound(10, 10, 0.05) - 0.7411344491069477) < 1e-12);
});
