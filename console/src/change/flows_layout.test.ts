// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Flow } from "./edits";
import { outline, picture, SHOWN } from "./flows_layout";

const flow = (from: number, to: number, buckets: number): Flow => ({ from, to, buckets, connections: buckets * 2 });

test("ribbons are as thick as they are large, and do not overlap at their ends", () => {
  const drawn = picture([flow(1, 2, 60), flow(1, 3, 30), flow(4, 3, 10)]);
  assert.equal(drawn.ribbons.length, 3);
  assert.ok(Math.abs(drawn.ribbons[0]!.thick / drawn.ribbons[1]!.thick - 2) < 1e-9);
  assert.deepEqual(
    drawn.from.map((end) => [end.id, end.buckets, end.connections]),
    [
      [1, 90, 180],
      [4, 10, 20],
    ],
  );
  const [first, second] = drawn.ribbons;
  assert.ok(first!.fromY + first!.thick / 2 <= second!.fromY - second!.thick / 2 + 1e-9);
  assert.ok(drawn.ribbons.every((ribbon) => ribbon.toY < drawn.height && ribbon.fromY > 0));
  assert.match(outline(first!), /^M[\d.]+ [\d.]+C.*Z$/);
});

test("the smallest beyond so many are counted", () => {
  const many = Array.from({ length: 1000 }, (_, index) => flow(index + 1, 2000, 5));
  const drawn = picture(many);
  assert.equal(drawn.ribbons.length, SHOWN);
  assert.equal(drawn.more, 1000 - SHOWN);
  assert.equal(drawn.moreBuckets, 5 * (1000 - SHOWN));
  assert.equal(picture([]).ribbons.length, 0);
});
