// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { counters, rates, total } from "./traffic";

const METRICS = `# HELP fairlead_mux_packets_total Packets received.
fairlead_mux_packets_total{verdict="service"} 999
fairlead_mux_moved_packets_total 25
fairlead_mux_drops_total{reason="no_backend"} 3
fairlead_mux_drops_total{reason="runt"} 4
fairlead_mux_service_packets_total{service="web"} 100
fairlead_mux_service_packets_total{service="api"} 50
fairlead_mux_service_drops_total{service="web",reason="no_backend"} 3
`;

test("the counters that are shown are taken out of the metrics", () => {
  const found = counters(METRICS, 7);
  assert.deepEqual(
    { ...found, services: [...found.services] },
    {
      at: 7,
      steered: 150,
      moved: 25,
      dropped: 7,
      services: [
        ["web", 100],
        ["api", 50],
      ],
    },
  );
});

test("rates are growth over time, also after a restart of the mux", () => {
  const before = counters(METRICS, 10);
  const later = counters(
    METRICS.replace('"web"} 100', '"web"} 300').replace("packets_total 25", "packets_total 5"),
    12,
  );
  const found = rates(later, before)!;
  assert.equal(found.steered, 100);
  assert.equal(found.moved, 2.5);
  assert.equal(found.services.get("web"), 100);
  assert.equal(found.services.get("api"), 0);
  assert.equal(rates(later, undefined), undefined);
  assert.equal(rates(later, later), undefined);
});

test("muxes add up, unknown ones are left out", () => {
  const one = { steered: 1, moved: 0, dropped: 2, services: new Map([["web", 1]]) };
  assert.deepEqual(total([one, undefined, one]), { steered: 2, moved: 0, dropped: 4, services: new Map([["web", 2]]) });
  assert.equal(total([undefined]), undefined);
});
