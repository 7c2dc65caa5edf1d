// SPDX-License-Identifier: Apache-2.0
//
// The ring as rows of cells, and how it is zoomed into. A part of the ring is a first bucket and a count.
export interface Span {
  start: number;
  count: number;
}

const ROWS = 8;
const PER_ROW = 256;
export const CELLS = ROWS * PER_ROW;
const FACTOR = 16;
const LEAST = PER_ROW;

/** The part around a bucket that is shown after a step of zooming in; aligned, so that steps nest. */
export function zoomIn(span: Span, bucket: number, buckets: number): Span {
  const count = Math.min(buckets, Math.max(LEAST, Math.ceil(span.count / FACTOR)));
  return aligned(bucket, count, buckets);
}

export function zoomOut(span: Span, buckets: number): Span {
  const count = Math.min(buckets, span.count * FACTOR);
  return count === buckets ? { start: 0, count: 0 } : aligned(span.start, count, buckets);
}

function aligned(bucket: number, count: number, buckets: number): Span {
  if (count >= buckets) return { start: 0, count: 0 };
  return { start: Math.min(buckets - count, Math.floor(bucket / count) * count), count };
}

/** The cell at a point of the canvas, or undefined. Cells fill rows from the left. */
export function cellAt(x: number, y: number, width: number, height: number, cells: number): number | undefined {
  const { rows, perRow } = grid(cells);
  const column = Math.floor((x / width) * perRow);
  const row = Math.floor((y / height) * rows);
  const cell = row * perRow + column;
  return column < 0 || column >= perRow || row < 0 || cell >= cells ? undefined : cell;
}

export function grid(cells: number): { rows: number; perRow: number } {
  const perRow = Math.min(PER_ROW, Math.max(1, cells));
  return { rows: Math.max(1, Math.ceil(cells / perRow)), perRow };
}
