// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditRecord } from "../../generated/schema";
import { merge } from "./timeline";

const record = (number: number, service: string, generation: number, movedBuckets: number): AuditRecord => ({
  number,
  time: `2026-01-01T12:00:0${number}.000Z`,
  who: "alice",
  what: `PATCH /v1/services/${service}`,
  service,
  outcome: "committed",
  generation,
  movedBuckets,
  epoch: 1,
  controller: "c1",
});
const change = (generation: number, buckets: number) => ({
  generation,
  committed: 1767268800,
  movedBuckets: buckets,
  largest: [{ backend: 7, buckets }],
  others: 2,
});

test("writes have the differences of their generations, and generations without a write are there, too", () => {
  const records = [record(3, "web", 6, 0), record(2, "api", 6, 9), record(1, "web", 6, 10)];
  const entries = merge(records, "web", [change(7, 20), change(6, 10)]);
  assert.deepEqual(
    entries.map((entry) => [entry.generation, entry.who, entry.moved, entry.lost, entry.change, entry.others]),
    [
      [7, "", 20, undefined, [{ backend: 7, buckets: 20 }], 2],
      [6, "alice", 0, 0, [], 0],
      [6, "alice", 10, 0, [{ backend: 7, buckets: 10 }], 2],
    ],
  );
});
