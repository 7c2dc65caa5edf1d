// SPDX-License-Identifier: Apache-2.0
//
// Numbers and times as texts.

/** 1234567 as 1,234,567. */
export const whole = (value: number) => value.toLocaleString("en");

/** 1 row, 1,234 rows */
export const plural = (count: number, noun: string) => `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;

/** 1234567 as 1.23 M. */
export function short(value: number): string {
  const size = Math.abs(value);
  for (const [unit, name] of [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e4, "k"],
  ] as [number, string][]) {
    if (size >= unit) {
      const scaled = value / (unit === 1e4 ? 1e3 : unit);
      return `${scaled.toFixed(Math.abs(scaled) < 10 ? 2 : Math.abs(scaled) < 100 ? 1 : 0)} ${name}`;
    }
  }
  return value.toLocaleString("en", { maximumFractionDigits: size < 10 ? 2 : size < 100 ? 1 : 0 });
}

export function percent(part: number): string {
  return `${(100 * part).toFixed(part < 0.0995 ? 1 : 0)} %`;
}

/** Seconds as 4 s, 3 min, 2 h or 5 d. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** Unix seconds, or a date of the API, as local date and time. */
export function moment(at: number | string): string {
  return new Date(typeof at === "number" ? at * 1000 : at).toLocaleString("sv");
}

/** Unix seconds as local time. */
export function clock(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString("sv");
}
