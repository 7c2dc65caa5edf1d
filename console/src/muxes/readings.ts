// SPDX-License-Identifier: Apache-2.0
//
// Metrics of all muxes, read again and again while a page shows them, and what changed between two readings.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { send, text } from "../api/client";
import { byLabel, parseMetrics, rates, type Sample, total } from "./metrics";

export interface Reading {
  at: number; // seconds
  samples: Sample[];
  /** Packets a second, by verdict, and drops by reason; empty before the second reading. */
  packets: Record<string, number>;
  drops: Record<string, number>;
  error?: string;
}

const AT_ONCE = 6; // that a browser has open to one controller

async function read(id: string, before: Reading | undefined, stop: AbortSignal): Promise<Reading> {
  try {
    const response = await send(`/v1/muxes/${encodeURIComponent(id)}/metrics`, { signal: stop });
    if (!response.ok) throw new Error(((await response.json()) as { detail: string }).detail);
    const now = { at: performance.now() / 1000, samples: parseMetrics(await response.text()) };
    const seconds = before?.samples.length ? now.at - before.at : 0;
    const grown = (name: string, label: string) =>
      rates(byLabel(now.samples, name, label), byLabel(before?.samples ?? [], name, label), seconds);
    return {
      ...now,
      packets: grown("fairlead_mux_packets_total", "verdict"),
      drops: grown("fairlead_mux_drops_total", "reason"),
    };
  } catch (failure) {
    return { at: performance.now() / 1000, samples: [], packets: {}, drops: {}, error: text(failure) };
  }
}

/** The latest reading of each mux of `ids`. */
export function useReadings(ids: string[], seconds: number): Signal<Record<string, Reading>> {
  const readings = useSignal<Record<string, Reading>>({});
  const names = ids.join("\n");
  useEffect(() => {
    const all = names ? names.split("\n") : [];
    const stop = new AbortController();
    let timer = 0;
    const round = async () => {
      const next: Record<string, Reading> = {};
      for (let first = 0; first < all.length && !stop.signal.aborted; first += AT_ONCE) {
        const some = all.slice(first, first + AT_ONCE);
        const said = await Promise.all(some.map((id) => read(id, readings.value[id], stop.signal)));
        some.forEach((id, index) => (next[id] = said[index]!));
      }
      if (stop.signal.aborted) return;
      readings.value = next;
      timer = window.setTimeout(round, (document.hidden ? 10 : 1) * seconds * 1000);
    };
    void round();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [names, seconds]);
  return readings;
}

/** What the table of muxes shows of a reading. */
export function summary(reading: Reading | undefined) {
  const samples = reading?.samples ?? [];
  const sum = (values: Record<string, number>) => Object.values(values).reduce((all, one) => all + one, 0);
  const hasRates = Object.keys(reading?.packets ?? {}).length > 0;
  return {
    packets: hasRates ? (reading!.packets.service ?? 0) : undefined,
    drops: hasRates ? sum(reading!.drops) : undefined,
    announced: total(samples, "fairlead_mux_announced"),
    clock: total(samples, "fairlead_mux_clock_difference_seconds"),
    isConnected: total(samples, "fairlead_mux_zookeeper_connected") === 1,
    error: reading?.error,
  };
}
