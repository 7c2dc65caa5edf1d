// SPDX-License-Identifier: Apache-2.0
//
// What the page of muxes shows of their metrics, and what changed between two readings.
import { type Signal, useComputed } from "@preact/signals";
import { byLabel, parseMetrics, rates, type Sample, total } from "./metrics";
import { useMuxMetrics } from "./poll";

export interface Reading {
  at: number; // seconds
  samples: Sample[];
  /** Packets a second, by verdict, and drops by reason; empty before the second reading. */
  packets: Record<string, number>;
  drops: Record<string, number>;
  error?: string;
}

const NOTHING: Reading = { at: 0, samples: [], packets: {}, drops: {} };

/** Metrics that pages show; a mux has a hundred more for each service. */
const SHOWN = [
  "fairlead_mux_packets_total",
  "fairlead_mux_drops_total",
  "fairlead_mux_announced",
  "fairlead_mux_clock_difference_seconds",
  "fairlead_mux_zookeeper_connected",
];

function step(page: string, seconds: number, before: Reading | undefined): Reading {
  const samples = parseMetrics(page, SHOWN);
  const grown = (name: string, label: string) =>
    rates(byLabel(samples, name, label), byLabel(before?.samples ?? [], name, label), before ? seconds - before.at : 0);
  return {
    at: seconds,
    samples,
    packets: grown("fairlead_mux_packets_total", "verdict"),
    drops: grown("fairlead_mux_drops_total", "reason"),
  };
}

/** The latest reading of each mux of `ids`. */
export function useReadings(ids: string[], seconds: number): Signal<Record<string, Reading>> {
  const metered = useMuxMetrics(ids, seconds, step);
  return useComputed(() =>
    Object.fromEntries([...metered.value].map(([id, { now, error }]) => [id, now ?? { ...NOTHING, error }])),
  );
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
