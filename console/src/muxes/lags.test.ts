// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Mux, Service } from "../../generated/schema";
import { lagRows, lags, UNSERVED } from "./lags";

const services = [
  { name: "web", generation: 12 },
  { name: "api", generation: 900 },
] as Service[];
const muxes = [
  { id: "m1", services: { web: { generation: 12, state: "serving" }, api: { generation: 2, state: "serving" } } },
  { id: "m2", services: { web: { generation: 9, state: "serving", withdrawn: "behind" } } },
  { id: "m3", services: { web: { generation: 13, state: "serving" }, api: { generation: 900, state: "stale" } } },
] as unknown as Mux[];

test("lag is in generations, and what is not served is more than late", () => {
  const found = lags(muxes, services);
  assert.deepEqual([...found], [0, 254, UNSERVED, UNSERVED, 0, UNSERVED]);
  assert.equal(lagRows(muxes, services, found, true).length, 6);
  assert.deepEqual(
    lagRows(muxes, services, found, false).map((row) => [row.mux, row.service, row.generation, row.state]),
    [
      ["m1", "api", 2, "serving"],
      ["m2", "web", 9, "withdrawn"],
      ["m2", "api", 0, "unknown"],
      ["m3", "api", 900, "stale"],
    ],
  );
});
