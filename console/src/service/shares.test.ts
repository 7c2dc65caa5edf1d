// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Agent, Backend } from "../../generated/schema";
import { largestShares, rows } from "./shares";

const backend = (id: number, weight: number, buckets: number, more = {}): Backend => ({
  ...{ id, address: `10.2.0.${id}`, weight, state: "active", buckets, unreachableBy: [] },
  ...more,
});

test("shares follow effective weights", () => {
  const found = rows(
    [
      backend(1, 100, 128),
      backend(2, 100, 64, { slowStart: { started: 0, ends: 1, share: 0.5 } }),
      backend(3, 100, 64, { state: "unhealthy" }),
      backend(4, 0, 0, { state: "draining" }),
    ],
    [],
    256,
  );
  assert.deepEqual(
    found.map((row) => [row.wanted, row.real]),
    [
      [2 / 3, 0.5],
      [1 / 3, 0.25],
      [0, 0.25],
      [0, 0],
    ],
  );
  assert.equal(rows([backend(1, 0, 0, { state: "draining" })], [], 256)[0]!.wanted, 0);
});

test("connections of agents that are silent are unknown, not zero", () => {
  const agents = [
    { service: "web", backend: 1, address: "", state: "reporting", established: 5, halfOpen: 1 },
    { service: "web", backend: 2, address: "", state: "silent", established: 7 },
  ] as Agent[];
  const found = rows([backend(1, 1, 1), backend(2, 1, 1), backend(3, 1, 1)], agents, 256);
  assert.deepEqual(
    found.map((row) => row.connections),
    [6, undefined, undefined],
  );
});

test("the largest are those that a sort would give", () => {
  const many = rows(
    Array.from({ length: 500 }, (_, index) => backend(index + 1, 1, (index * 7919) % 97)),
    [],
    65_536,
  );
  const sorted = many.map((_, index) => index).sort((a, b) => many[b]!.buckets - many[a]!.buckets || a - b);
  assert.deepEqual(largestShares(many, 16), sorted.slice(0, 16));
  assert.deepEqual(largestShares(many.slice(0, 3), 16).length, 3);
  assert.deepEqual(largestShares([], 16), []);
});
