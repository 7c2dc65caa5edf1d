// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { byLabel, parseMetrics, rates, total } from "./metrics";

const TEXT = `# HELP a_total Something.
# TYPE a_total counter
a_total{reason="x",service="web"} 3
a_total{reason="x",service="api"} 4
a_total{reason="y\\"\\\\z"} 1e3
up 1
far +Inf
broken line here {
empty{} 2
`;

test("samples, with labels that have quotes", () => {
  const samples = parseMetrics(TEXT, ["a_total", "up", "far", "broken", "nothing"]);
  assert.equal(samples.length, 5);
  assert.deepEqual(byLabel(samples, "a_total", "reason"), { x: 7, 'y"\\z': 1000 });
  assert.equal(total(samples, "a_total", { service: "api" }), 4);
  assert.equal(total(samples, "up"), 1);
  assert.equal(total(samples, "far"), Infinity);
  assert.equal(total(samples, "nothing"), undefined);
});

test("rates, also of counters that were reset", () => {
  assert.deepEqual(rates({ a: 30, b: 5, c: 2 }, { a: 10, b: 50 }, 2), { a: 10, b: 2.5, c: 1 });
  assert.deepEqual(rates({ a: 30 }, { a: 10 }, 0), {});
});
