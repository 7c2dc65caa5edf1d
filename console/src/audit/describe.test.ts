// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { describe, serviceOfEvent } from "./describe";

const rows: [string, Record<string, unknown>, string, string][] = [
  ["start", { resumed: false }, "the stream of events begins; earlier ones are unknown", ""],
  ["service", { service: "web", version: "7.1", generation: 4, deleted: false }, "generation 4, version 7.1", "web"],
  ["service", { service: "web", deleted: true }, "deleted", "web"],
  [
    "hold",
    { service: "web", generation: 4, chainedBuckets: 1200, before: 0 },
    "generation 4: 1,200 buckets chained, 0 before",
    "web",
  ],
  [
    "slowStart",
    { service: "web", starting: [{ backend: 3, share: 0.25 }], ended: [4] },
    "starting: 3 at 25 %; ended: 4",
    "web",
  ],
  [
    "stage",
    { service: "web", staging: { state: "running", share: 0.01, backends: [9] } },
    "staged change of 1 backend at 1 %",
    "web",
  ],
  [
    "stage",
    { service: "web", staging: { state: "rolled_back", share: 0.1, backends: [8, 9], why: "backend 9: resets" } },
    "staged change of 2 backends at 10 %, rolled back: backend 9: resets",
    "web",
  ],
  [
    "drain",
    { service: "web", drains: [{ backend: 3, state: "draining", connections: 1 }], over: [4] },
    "backend 3: draining, 1 connection; backend 4: cancelled",
    "web",
  ],
  ["mux", { mux: "mux1", services: { web: { generation: 3, state: "serving" } } }, "mux1: web generation 3", "web"],
  [
    "mux",
    { mux: "mux1", services: { web: { generation: 3, state: "serving", withdrawn: "behind" } } },
    "mux1: web generation 3 (behind)",
    "web",
  ],
  ["mux", { mux: "mux2", gone: true }, "mux2 is gone", ""],
  ["controller", { leader: true, epoch: 3, zookeeper: "connected" }, "leads, epoch 3, ZooKeeper connected", ""],
  ["new", { a: 1 }, '{"a":1}', ""],
];
for (const [kind, data, words, services] of rows) {
  test(`an event: ${kind}, ${words}`, () => {
    assert.equal(describe({ kind, data }), words);
    assert.equal(serviceOfEvent({ data }).join(" "), services);
  });
}
