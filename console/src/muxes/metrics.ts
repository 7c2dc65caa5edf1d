// SPDX-License-Identifier: Apache-2.0
//
// Prometheus' text format, and what the console makes of a mux's metrics.

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const SAMPLE = "(?:\\{(.*)\\})? (\\S+)(?: \\S+)?$";
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** The samples of these metrics. Other lines are passed over: of 1,000 services there are many thousand. */
export function parseMetrics(text: string, names: string[]): Sample[] {
  return [...text.matchAll(new RegExp(`^(${names.join("|")})${SAMPLE}`, "gm"))].map((found) => {
    const labels: Record<string, string> = {};
    for (const [, name, value] of (found[2] ?? "").matchAll(LABEL)) {
      labels[name!] = value!.replace(/\\(.)/g, (_, one: string) => (one === "n" ? "\n" : one));
    }
    return { name: found[1]!, labels, value: number(found[3]!) };
  });
}

const number = (text: string) => (/^[+-]?Inf$/.test(text) ? (text[0] === "-" ? -Infinity : Infinity) : Number(text));

/** Sums of a metric by one of its labels; "" stands for samples without it. */
export function byLabel(samples: Sample[], name: string, label: string): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const sample of samples) {
    if (sample.name !== name) continue;
    const key = sample.labels[label] ?? "";
    sums[key] = (sums[key] ?? 0) + sample.value;
  }
  return sums;
}

/** The sum of a metric; undefined if there is none. */
export function total(samples: Sample[], name: string, labels: Record<string, string> = {}): number | undefined {
  const found = samples.filter(
    (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return found.length ? found.reduce((sum, sample) => sum + sample.value, 0) : undefined;
}

/** A second's share of each counter's growth. A counter that went back was reset: its growth is its value. */
export function rates(
  now: Record<string, number>,
  before: Record<string, number>,
  seconds: number,
): Record<string, number> {
  if (seconds <= 0) return {};
  return Object.fromEntries(
    Object.entries(now).map(([key, value]) => {
      const last = before[key] ?? 0;
      return [key, (value >= last ? value - last : value) / seconds];
    }),
  );
}
