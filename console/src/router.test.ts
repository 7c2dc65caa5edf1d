// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { href, parse } from "./router";

test("an address names a page, arguments and a query", () => {
  for (const [hash, page, args, query] of [
    ["", "overview", [], {}],
    ["#/", "overview", [], {}],
    ["#/service/web", "service", ["web"], {}],
    ["#/service/a%2Fb/7?bucket=3", "service", ["a/b", "7"], { bucket: "3" }],
    ["#/service/%", "service", ["%"], {}],
  ] as const) {
    assert.deepEqual(parse(hash), { page, args: [...args], query });
  }
});

test("what href makes, parse reads", () => {
  assert.equal(href("service", ["web"], { bucket: "3", filter: "" }), "#/service/web?bucket=3");
  assert.deepEqual(parse(href("x", ["a/b?c", 7], { k: "a&b" })), {
    page: "x",
    args: ["a/b?c", "7"],
    query: { k: "a&b" },
  });
});
