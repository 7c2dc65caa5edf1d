// SPDX-License-Identifier: Apache-2.0
//
// Packets a second, from two readings of each mux's metrics. Of the page, which may have a line for each service and reason,
// only the few counters are read that are shown.
import { type Signal, useComputed } from "@preact/signals";
import { useMuxMetrics } from "../muxes/poll";

interface Counters {
  /** Seconds. */
  at: number;
  steered: number;
  moved: number;
  dropped: number;
  /** Steered, by service. */
  services: Map<string, number>;
}

export interface Rates {
  steered: number;
  /** To buckets that moved within the window: at most these are chained. */
  moved: number;
  dropped: number;
  services: Map<string, number>;
}

const LINE =
  /^fairlead_mux_(service_packets|moved_packets|drops)_total(?:\{(?:.*,)?(?:service="([^"]*)")?[^}]*\})? (\d\S*)/gm;

export function counters(text: string, at: number): Counters {
  const found: Counters = { at, steered: 0, moved: 0, dropped: 0, services: new Map() };
  for (const [, name, service, digits] of text.matchAll(LINE)) {
    const value = Number(digits);
    if (name === "moved_packets") found.moved += value;
    else if (name === "drops") found.dropped += value;
    else {
      found.steered += value;
      found.services.set(service ?? "", (found.services.get(service ?? "") ?? 0) + value);
    }
  }
  return found;
}

/** A counter that fell was reset: the mux restarted. Undefined if no time has passed. */
export function rates(now: Counters, before: Counters | undefined): Rates | undefined {
  const seconds = before ? now.at - before.at : 0;
  if (!before || seconds <= 0) return undefined;
  const rate = (value: number, last: number) => (value >= last ? value - last : value) / seconds;
  return {
    steered: rate(now.steered, before.steered),
    moved: rate(now.moved, before.moved),
    dropped: rate(now.dropped, before.dropped),
    services: new Map([...now.services].map(([name, value]) => [name, rate(value, before.services.get(name) ?? 0)])),
  };
}

/** Sums over muxes; undefined if none is known. */
export function total(each: Iterable<Rates | undefined>): Rates | undefined {
  let sum: Rates | undefined;
  for (const one of each) {
    if (!one) continue;
    sum ??= { steered: 0, moved: 0, dropped: 0, services: new Map() };
    sum.steered += one.steered;
    sum.moved += one.moved;
    sum.dropped += one.dropped;
    for (const [name, rate] of one.services) sum.services.set(name, (sum.services.get(name) ?? 0) + rate);
  }
  return sum;
}

interface Counted {
  counters: Counters;
  /** Absent before the second reading. */
  rates: Rates | undefined;
}

function step(page: string, seconds: number, before: Counted | undefined): Counted {
  const now = counters(page, seconds);
  return { counters: now, rates: rates(now, before?.counters) };
}

/** Rates by mux, read every `seconds` while the page is seen. Muxes that cannot be read are absent. */
export function useTraffic(ids: string[], seconds: number): Signal<Map<string, Rates>> {
  const metered = useMuxMetrics(ids, seconds, step);
  return useComputed(() => {
    const known = new Map<string, Rates>();
    for (const [id, { now }] of metered.value) {
      if (now?.rates) known.set(id, now.rates);
    }
    return known;
  });
}
