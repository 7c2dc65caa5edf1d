// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Backend } from "../../generated/schema";
import { asks, differences, type Edits, flows, NO_EDITS, parseAdded } from "./edits";

const backend = (id: number, weight: number): Backend => ({
  ...{ id, address: `10.2.0.${id}`, weight, state: weight ? "active" : "draining", buckets: 8, unreachableBy: [] },
});
const POOL = [backend(1, 100), backend(2, 100), backend(3, 0)];

test("only what differs is asked for", () => {
  const edits: Edits = new Map<number, { weight: number } | { remove: "gracefully" | "dead" }>([
    [1, { weight: 100 }],
    [2, { weight: 0 }],
    [3, { remove: "dead" }],
    [9, { weight: 5 }],
  ]);
  const edited = [
    { op: "weight", id: 2, weight: 0 },
    { op: "remove", id: 3, dead: true },
  ];
  const added = { op: "add", id: 4, address: "10.2.0.4", weight: 50 };
  assert.deepEqual(asks(POOL, { edits, more: "4 10.2.0.4 50" }), { wanted: [...edited, added], wrong: "" });
  assert.deepEqual(asks(POOL, NO_EDITS), { wanted: [], wrong: "" });
  const { wanted, wrong } = asks(POOL, { edits, more: "4 10.2.0.4 x" });
  assert.deepEqual(wanted, edited);
  assert.match(wrong, /weight 'x'/);
});

test("lines name backends to add", () => {
  assert.deepEqual(parseAdded("\n 7 10.2.0.7\n8, fd00::8, 50\n"), [
    { id: 7, address: "10.2.0.7", weight: 100 },
    { id: 8, address: "fd00::8", weight: 50 },
  ]);
  for (const [line, why] of [
    ["7", "ID ADDRESS"],
    ["0 10.2.0.7", "id '0'"],
    ["65536 10.2.0.7", "1..65535"],
    ["7 10.2.0.7 x", "weight 'x'"],
    ["7 10.2.0.7 -1", "weight '-1'"],
    ["7 10.2.0.7 1 2", "ID ADDRESS"],
  ] as const) {
    assert.throws(() => parseAdded(line), new RegExp(why.replace(".", "\\.")), line);
  }
});

test("what somebody else changed is found by backend", () => {
  const now = [backend(1, 50), { ...backend(2, 100), buckets: 99 }, backend(4, 100)];
  assert.deepEqual(differences(POOL, now), [
    { id: 1, was: "10.2.0.1, weight 100, active", is: "10.2.0.1, weight 50, active" },
    { id: 3, was: "10.2.0.3, weight 0, draining", is: "not there" },
    { id: 4, was: "not there", is: "10.2.0.4, weight 100, active" },
  ]);
});

test("moves are summed up, with the connections that live in them", () => {
  const found = flows(
    [
      { start: 0, count: 2, from: 1, to: 2 },
      { start: 8, count: 1, from: 3, to: 2 },
      { start: 4, count: 2, from: 1, to: 2 },
    ],
    [
      { backend: 1, buckets: 8, connections: 101, estimated: true, fate: "chained", until: 0 },
      { backend: 3, buckets: 1, unknown: "backend 3 has no agent", estimated: false, fate: "chained", until: 0 },
    ],
  );
  assert.deepEqual(found, [
    { from: 1, to: 2, buckets: 4, connections: 50.5 },
    { from: 3, to: 2, buckets: 1, connections: undefined },
  ]);
});
