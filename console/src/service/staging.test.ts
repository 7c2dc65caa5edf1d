// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Staging } from "../../generated/schema";
import { counts, next, shares, who } from "./staging";

const staging = (more: Partial<Staging>): Staging => ({
  state: "running",
  share: 0.01,
  next: 0.1,
  shares: [0.01, 0.1, 1],
  bakeSeconds: 60,
  started: 1000,
  since: 1000,
  due: 1060,
  backends: [9],
  ...more,
});

const rows: [Partial<Staging>, number, string][] = [
  [{}, 1020, "10 % in 40 s"],
  [{}, 1061, "10 % as soon as agents report nothing wrong"],
  [{ share: 1, next: undefined }, 1000, "done in 60 s"],
];
for (const [more, now, words] of rows) {
  test(`what is next: ${words}`, () => {
    assert.equal(next(staging(more), now), words);
  });
}

test("one that is over says how and why", () => {
  const over = staging({
    state: "rolled_back",
    due: undefined,
    next: undefined,
    ended: 1010,
    why: "backend 9: resets",
  });
  assert.match(next(over, 2000), /^rolled back 1970-.*: backend 9: resets$/);
});

test("shares and backends are named", () => {
  assert.equal(shares(staging({})), "1.0 %, 10 %, 100 %");
  assert.equal(who(staging({})), "Backend 9");
  assert.equal(who(staging({ backends: [1, 2] })), "2 backends");
});

test("counters are told only where agents report them", () => {
  const quiet = { opened: 0, refused: 0, resets: 0, retransmitted: 0, segments: 0, rttSamples: 0, rttMillis: 0 };
  const status = { service: "web", generation: 3, others: quiet };
  assert.deepEqual(counts(status), []);
  const bad = { ...quiet, opened: 12, resets: 12, segments: 40, rttMillis: 0.44 };
  assert.deepEqual(counts({ ...status, signals: [{ backend: 9, counts: bad }] }), [
    ["backend 9", "12 connections opened · 0 refused · 12 reset · 0 of 40 segments sent again · 0.4 ms"],
    ["others", "0 connections opened · 0 refused · 0 reset · 0 of 0 segments sent again"],
  ]);
});
