// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { cellAt, grid, zoomIn, zoomOut } from "./strip_geometry";

test("zooming in ends at single buckets, and always has the bucket in view", () => {
  const buckets = 8 << 20;
  for (const bucket of [0, 1, 4_194_303, buckets - 1]) {
    let span = { start: 0, count: buckets };
    for (let step = 0; step < 6; step++) {
      span = zoomIn(span, bucket, buckets);
      assert.ok(span.start <= bucket && bucket < span.start + span.count, `${bucket} in ${JSON.stringify(span)}`);
    }
    assert.equal(span.count, 256);
  }
});

test("zooming out ends at the whole ring", () => {
  assert.deepEqual(zoomOut({ start: 512, count: 256 }, 65_536), { start: 0, count: 4096 });
  assert.deepEqual(zoomOut({ start: 4096, count: 4096 }, 65_536), { start: 0, count: 0 });
});

test("a small ring is one row", () => {
  assert.deepEqual(zoomIn({ start: 0, count: 256 }, 3, 256), { start: 0, count: 0 });
  assert.deepEqual(grid(256), { rows: 1, perRow: 256 });
  assert.deepEqual(grid(2048), { rows: 8, perRow: 256 });
});

test("points name cells", () => {
  assert.equal(cellAt(0, 0, 512, 80, 2048), 0);
  assert.equal(cellAt(511, 9, 512, 80, 2048), 255);
  assert.equal(cellAt(2, 10, 512, 80, 2048), 257);
  assert.equal(cellAt(511, 79, 512, 80, 2048), 2047);
  assert.equal(cellAt(511, 79, 512, 80, 2000), undefined);
  assert.equal(cellAt(-1, 0, 512, 80, 2048), undefined);
});
