// SPDX-License-Identifier: Apache-2.0
//
// Colours that people with any form of colour blindness tell apart (Okabe and Ito's set). Owners beyond the eighth repeat
// the colours in other shades; a label always says which one it is.

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
