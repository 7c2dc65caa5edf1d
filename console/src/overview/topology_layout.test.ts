// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { draw, folded, type Part, path, SHOWN } from "./topology_layout";

const part = (id: string, rate?: number): Part => ({ id, title: id, note: "", state: "good", href: "#", rate });

test("few parts are all shown, many are folded into one that says how many", () => {
  const many = Array.from({ length: 40 }, (_, index) => part(`m${index}`, index));
  assert.equal(folded(many.slice(0, SHOWN), SHOWN, "muxes", "#").length, SHOWN);
  const some = folded(many, 100, "muxes", "#/muxes");
  assert.equal(some.length, SHOWN);
  assert.equal(some.at(-1)!.title, "89 more muxes");
  assert.equal(
    some.at(-1)!.rate,
    many.slice(SHOWN - 1).reduce((sum, each) => sum + each.rate!, 0),
  );
});

test("each mux has a line from the router, and one to each server", () => {
  const drawing = draw(part("router"), [part("a", 10), part("b", 5), part("c")], [part("s", 1), part("t", 0)]);
  assert.equal(drawing.nodes.length, 6);
  assert.equal(drawing.lines.length, 3 + 3 * 2);
  assert.deepEqual(
    drawing.lines.slice(0, 3).map((line) => line.load),
    [1, 0.5, undefined],
  );
  assert.ok(drawing.nodes.every((node) => node.y > 0 && node.y < drawing.height));
  assert.match(path(drawing.lines[0]!), /^M[\d.]+ [\d.]+C/);
});

test("a cluster without muxes and servers is drawn", () => {
  assert.equal(draw(part("router"), [], []).nodes.length, 1);
});
