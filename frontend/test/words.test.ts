import assert from "node:assert/strict";
import { test } from "node:test";
import { cell } from "../src/downloads";
import { nextMark } from "../src/controls";
import { figure, label, shown } from "../src/explorer/parts";
import { type Answer, matching } from "../src/settings";
import { many } from "../src/sentences";
import { brief, count, cut, listed, percent, price } from "../src/words";

test("a share never rounds up to certainty", () => {
  assert.deepEqual([0.9414, 0.9999, 1, 0.0004, 0.005, null, 0.125].map(percent), ["94%", ">99%", "100%", "<1%", "<1%", "–", "12%"]);
});

test("numbers are brief", () => {
  assert.equal(brief(0.30000000000000004), "0.3");
  assert.equal(price(2.5634), "2.56");
  assert.equal(count(1200, "reference"), "1,200 references");
  assert.equal(listed(["age", "job", "debt"], "or"), "age, job or debt");
  assert.equal(cut("an unusually long name", 12), "an unusuall…");
});

test("the explorer shows values as the page does", () => {
  assert.deepEqual([true, false, null, 0.65181, 1200, "own"].map(shown), ["yes", "no", "missing", "0.6518", "1,200", "own"]);
  assert.deepEqual([4 / 3, 4, 1234].map(figure), ["1.33", "4", "1,234"]);
  assert.deepEqual([true, "granted", 7].map(label), ["True", "granted", "7"]);
});

test("no cell is a formula, and commas and quotes stay inside", () => {
  assert.equal(cell("=1+1"), "'=1+1");
  assert.equal(cell("＝1+1"), "'＝1+1");
  assert.equal(cell("\n=1+1"), '"\'\n=1+1"');
  assert.equal(cell('a, "b"'), '"a, ""b"""');
  assert.equal(cell(-0.5), "-0.5");
});

test("a feature is required, then excluded, then neither", () => {
  const once = nextMark(new Map(), 3);
  const twice = nextMark(once, 3);
  assert.deepEqual([once.get(3), twice.get(3), nextMark(twice, 3).size], ["required", "excluded", 0]);
});

test("a page that has only some of the sets says of how many", () => {
  const given = (all: number, known: number, sets: number) => ({ all, known, sets: Array(sets) }) as unknown as Answer;
  assert.equal(many(given(12, 12, 12)), "12 sets");
  assert.equal(many(given(1200, 1200, 37)), "37 of 1,200 sets");
  assert.equal(many(given(5117, 2000, 2000)), "5,117 sets, of which this page has the 2,000 smallest");
  assert.equal(many(given(5117, 2000, 37)), "37 of the 2,000 smallest of 5,117 sets; the others are not in this page");
  assert.deepEqual([given(5117, 2000, 2000), given(5117, 2000, 37), given(9, 9, 9)].map(matching), [5117, 37, 9]);
});
