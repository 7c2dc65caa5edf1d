// SPDX-License-Identifier: Apache-2.0
//
// Packets a second, from two readings of each mux's metrics. Of the page, which may have a line for each service and reason,
// only the few counters are read that are shown.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiError, send } from "../api/client";

export interface Counters {
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

const LINE = /^fairlead_mux_(service_packets|moved_packets|drops)_total(?:\{(?:.*,)?(?:service="([^"]*)")?[^}]*\})? (\d\S*)/gm;

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

/** A counter that fell began anew: the mux was restarted. Undefined if no time has passed. */
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

const AT_ONCE = 4; // of about six that a browser has open to one controller
const PATIENCE = 10; // rounds without a mux that could not be read

/** Rates by mux, read every `seconds` while the page is seen. Muxes that cannot be read are absent. */
export function useTraffic(ids: string[], seconds: number): Signal<Map<string, Rates>> {
  const traffic = useSignal(new Map<string, Rates>());
  const names = ids.join("\n");
  useEffect(() => {
    const all = names ? names.split("\n") : [];
    const last = new Map<string, Counters>();
    const wait = new Map<string, number>();
    const stop = new AbortController();
    let timer = 0;
    const read = async (id: string): Promise<[string, Rates] | undefined> => {
      const rounds = wait.get(id) ?? 0;
      if (rounds > 0) {
        wait.set(id, rounds - 1);
        return undefined;
      }
      try {
        const response = await send(`/v1/muxes/${encodeURIComponent(id)}/metrics`, { signal: stop.signal });
        if (!response.ok) throw new ApiError(response.status, await response.json());
        const now = counters(await response.text(), performance.now() / 1000);
        const found = rates(now, last.get(id));
        last.set(id, now);
        return found && [id, found];
      } catch {
        wait.set(id, PATIENCE);
        last.delete(id);
        return undefined;
      }
    };
    const round = async () => {
      const next = new Map<string, Rates>();
      for (let first = 0; first < all.length && !stop.signal.aborted; first += AT_ONCE) {
        for (const found of await Promise.all(all.slice(first, first + AT_ONCE).map(read))) {
          if (found) next.set(...found);
        }
      }
      if (stop.signal.aborted) return;
      traffic.value = next;
      timer = window.setTimeout(round, (document.hidden ? 10 : 1) * seconds * 1000);
    };
    void round();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [names, seconds]);
  return traffic;
}
