// SPDX-License-Identifier: Apache-2.0
//
// The ring as a picture: cells of neighbouring buckets, coloured by the owner of most of them. A bar at a cell's top says
// how many of its buckets moved within the window, one at its bottom how many are held.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { RingCells } from "../../generated/schema";
import { servicePath } from "../api/client";
import { usePolled } from "../api/poll";
import { moment, percent, whole } from "../parts/figures";
import { ownerRgb } from "../parts/palette";
import { colour, theme } from "../theme";
import { cellAt, CELLS, grid, type Span, zoomIn, zoomOut } from "./strip_geometry";

const ROW_PIXELS = 30;

interface StripProps {
  service: string;
  buckets: number;
  /** The place of an owner among all, which gives its colour. */
  place: Map<number, number>;
  /** The bucket that the address names. */
  bucket?: number;
}

export function Strip({ service, buckets, place, bucket }: StripProps) {
  const span = useSignal<Span>(
    bucket === undefined ? { start: 0, count: 0 } : zoomIn({ start: 0, count: 4096 }, bucket, buckets),
  );
  const cursor = useSignal<number | undefined>(undefined);
  const { start, count } = span.value;
  const path = `${servicePath(service)}/ring/cells?start=${start}&count=${count}&cells=${CELLS}`;
  const { data, error } = usePolled<RingCells>(path, 5, ["service", "hold"]);
  const canvas = useRef<HTMLCanvasElement>(null);
  const cells = data.value;
  const current = theme.value;

  useEffect(() => {
    if (cells && canvas.current) paint(canvas.current, cells, place, cursor.value);
  }, [cells, place, cursor.value, current]);

  const pick = (cell: number) => {
    if (!cells) return;
    cursor.value = cell;
    if (cells.size > 1) {
      span.value = zoomIn({ start, count: count || buckets }, cells.start + cell * cells.size, buckets);
      cursor.value = undefined;
    }
  };
  const out = () => {
    span.value = zoomOut({ start, count: count || buckets }, buckets);
    cursor.value = undefined;
  };
  const at = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    return cellAt(event.clientX - box.left, event.clientY - box.top, box.width, box.height, cells?.owners.length ?? 0);
  };
  const key = (event: KeyboardEvent) => {
    if (!cells) return;
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -256, ArrowDown: 256 };
    const step = steps[event.key];
    if (step !== undefined) {
      const next = cursor.value === undefined ? 0 : cursor.value + step;
      cursor.value = Math.max(0, Math.min(cells.owners.length - 1, next));
    } else if (event.key === "Enter" && cursor.value !== undefined) pick(cursor.value);
    else if (event.key === "Escape" || event.key === "Backspace") out();
    else return;
    event.preventDefault();
  };
  const end = cells ? cells.start + cells.count - 1 : 0;
  return (
    <div class="strip">
      <div class="table-tools">
        <span>
          {cells
            ? `Buckets ${whole(cells.start)} to ${whole(end)} of ${whole(buckets)}, ${cells.size} per cell`
            : error.value || "Loading"}
        </span>
        <button type="button" onClick={out} disabled={count === 0}>
          Zoom out
        </button>
        <Find buckets={buckets} onFind={(found) => (span.value = zoomIn({ start: 0, count: 4096 }, found, buckets))} />
      </div>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={`Ring of ${service}. Arrow keys move, Enter zooms in, Escape zooms out. ${cells ? totals(cells) : ""}`}
        onMouseMove={(event) => (cursor.value = at(event))}
        onClick={(event) => {
          const cell = at(event);
          if (cell !== undefined) pick(cell);
        }}
        onKeyDown={key}
      />
      <p class="hint mono" role="status">
        {cells && cursor.value !== undefined && cursor.value < cells.owners.length
          ? describe(cells, cursor.value)
          : cells
            ? totals(cells)
            : ""}
      </p>
    </div>
  );
}

function Find({ buckets, onFind }: { buckets: number; onFind: (bucket: number) => void }) {
  const text = useSignal("");
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault();
        const bucket = Number(text.value);
        if (text.value !== "" && Number.isInteger(bucket) && bucket >= 0 && bucket < buckets) onFind(bucket);
      }}
    >
      <input
        aria-label="Bucket"
        placeholder="Bucket"
        type="number"
        min={0}
        max={buckets - 1}
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
      <button type="submit">Go</button>
    </form>
  );
}

const sum = (values: number[]) => values.reduce((all, one) => all + one, 0);

function totals(cells: RingCells): string {
  return (
    `generation ${cells.generation}: ${whole(sum(cells.moved))} of these buckets moved within the window, ` +
    `${whole(sum(cells.held))} are held`
  );
}

/** A cell in words. */
export function describe(cells: RingCells, cell: number): string {
  const first = cells.start + cell * cells.size;
  const many = Math.min(cells.size, cells.start + cells.count - first);
  const owner = cells.owners[cell] ? `backend ${cells.owners[cell]}` : "no backend";
  if (cells.size === 1) {
    const former = cells.former?.[cell] ?? [];
    const since = cells.since?.[cell];
    const state = cells.moved[cell]
      ? "in its window, chained to"
      : cells.held[cell]
        ? "held, chained to"
        : "formerly of";
    return (
      `bucket ${first}: ${owner}` +
      (former.length ? `, ${state} backend ${former.join(", ")}` : "") +
      (since ? `, moved ${moment(since)}` : ", not moved lately")
    );
  }
  return (
    `buckets ${first} to ${first + many - 1}: ${owner} owns ${percent(cells.owned[cell]! / many)}` +
    `, ${cells.moved[cell]} moved, ${cells.held[cell]} held`
  );
}

function paint(canvas: HTMLCanvasElement, cells: RingCells, place: Map<number, number>, cursor: number | undefined) {
  const { rows, perRow } = grid(cells.owners.length);
  const ratio = devicePixelRatio || 1;
  const width = Math.max(perRow, Math.round(canvas.clientWidth * ratio));
  const height = Math.round(rows * ROW_PIXELS * ratio);
  canvas.style.height = `${rows * ROW_PIXELS}px`;
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d")!;
  const ink = colour("--ink");
  const ground = colour("--card");
  const rowHeight = height / rows;
  const gap = Math.max(1, Math.round(2 * ratio));
  context.fillStyle = ground;
  context.fillRect(0, 0, width, height);
  for (let cell = 0; cell < cells.owners.length; cell++) {
    const column = cell % perRow;
    const left = Math.floor((column * width) / perRow);
    const right = Math.floor(((column + 1) * width) / perRow);
    const top = Math.floor(Math.floor(cell / perRow) * rowHeight);
    const tall = Math.floor(rowHeight) - gap;
    const many = Math.min(cells.size, cells.start + cells.count - cell * cells.size - cells.start);
    const owner = cells.owners[cell]!;
    // The paler, the smaller the part of its most frequent owner: scattered cells look scattered.
    const alpha = owner === 0 ? 0.15 : 0.35 + 0.65 * (cells.owned[cell]! / many);
    const [red, green, blue] = owner === 0 ? [128, 128, 128] : ownerRgb(place.get(owner) ?? 7);
    context.fillStyle = `rgb(${red} ${green} ${blue} / ${alpha})`;
    context.fillRect(left, top, right - left, tall);
    context.fillStyle = ink;
    const moved = cells.moved[cell]! / many;
    if (moved > 0) context.fillRect(left, top, right - left, Math.max(1, Math.round(tall * 0.3 * moved)));
    const held = cells.held[cell]! / many;
    if (held > 0) {
      const bar = Math.max(1, Math.round(tall * 0.3 * held));
      for (let dot = left; dot < right; dot += 2 * gap) context.fillRect(dot, top + tall - bar, gap, bar);
    }
    if (cell === cursor) {
      context.strokeStyle = ink;
      context.lineWidth = 2 * ratio;
      context.strokeRect(left - ratio, top + ratio, right - left + 2 * ratio, tall - 2 * ratio);
    }
  }
}
