// SPDX-License-Identifier: Apache-2.0
//
// Colours that people with any form of colour blindness tell apart (Okabe and Ito's set), and numbers as texts. Owners
// beyond the eighth repeat the colours in other shades; a label always says which one it is.

const HUES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c"];

export function rgb(hex: string): [number, number, number] {
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as [number, number, number];
}

/** The colour of the owner with this place among all owners (0, 1, ...), as red, green and blue. */
export function ownerRgb(place: number): [number, number, number] {
  const base = rgb(HUES[place % HUES.length]!);
  const shade = Math.floor(place / HUES.length) % 4; // 0 is the colour itself
  const towards = shade % 2 ? 255 : 0;
  const part = shade === 0 ? 0 : 0.2 + 0.15 * Math.floor(shade / 2);
  return base.map((value) => Math.round(value + (towards - value) * part)) as [number, number, number];
}

export function ownerColour(place: number): string {
  return `rgb(${ownerRgb(place).join(" ")})`;
}

/** Colours of lines in charts. */
export const lineColour = (index: number) => HUES[index % HUES.length]!;

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

/** Unix seconds as local date and time. */
export function moment(seconds: number): string {
  return new Date(seconds * 1000).toLocaleString("sv");
}
