// SPDX-License-Identifier: Apache-2.0
//
// How far each mux is behind each service's committed generation, as a picture that has room for 100 muxes and 1,000
// services, and as a table of what is not as it should be.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Mux, Service } from "../../generated/schema";
import { type Column, Table } from "../parts/table";
import { colour, theme } from "../theme";

export interface LagRow {
  mux: string;
  service: string;
  generation: number;
  committed: number;
  state: string;
  why: string;
}

export function lagRows(muxes: Mux[], services: Service[]): LagRow[] {
  return muxes.flatMap((mux) =>
    services.map((service) => {
      const at = mux.services[service.name];
      return {
        mux: mux.id,
        service: service.name,
        generation: at?.generation ?? 0,
        committed: service.generation,
        state: at?.refused ? "refused" : at?.withdrawn ? "withdrawn" : (at?.state ?? "unknown"),
        why: [at?.refused, at?.withdrawn, at?.why].filter(Boolean).join(": "),
      };
    }),
  );
}

const CELL_MOST = 40; // pixels

export const behind = (row: LagRow) => Math.max(0, row.committed - row.generation);
const isFine = (row: LagRow) => row.state === "serving" && behind(row) === 0;

const COLUMNS: Column<LagRow>[] = [
  { key: "mux", title: "Mux", value: (row) => row.mux },
  { key: "service", title: "Service", value: (row) => row.service, render: (row) => <a href={`#/service/${row.service}`}>{row.service}</a> },
  { key: "generation", title: "Generation", isNumber: true, value: (row) => row.generation },
  { key: "committed", title: "Committed", isNumber: true, value: (row) => row.committed },
  {
    key: "behind", title: "Behind", isNumber: true, value: behind,
    render: (row) => <span class={behind(row) ? "warn" : "good"}>{behind(row)}</span>,
  },
  { key: "state", title: "State", value: (row) => row.state, render: (row) => <span class={isFine(row) ? "good" : "warn"}>{row.state}</span> },
  { key: "why", title: "Why", value: (row) => row.why },
];

export function Lag({ muxes, services }: { muxes: Mux[]; services: Service[] }) {
  const isAll = useSignal(false);
  const rows = useMemo(() => lagRows(muxes, services), [muxes, services]);
  const shown = useMemo(() => (isAll.value ? rows : rows.filter((row) => !isFine(row))), [rows, isAll.value]);
  const late = rows.filter((row) => behind(row) > 0).length;
  const others = rows.filter((row) => row.state !== "serving").length;
  if (!rows.length) return <p class="empty">No mux, or no service.</p>;
  return (
    <>
      <p class={late + others ? "warn" : "good"} role="status">
        {late + others
          ? `Of ${rows.length.toLocaleString("en")} rings at muxes, ${late} are behind and ${others} are not served.`
          : `All ${rows.length.toLocaleString("en")} rings at muxes serve the committed generation.`}
      </p>
      <Grid muxes={muxes} services={services} rows={rows} />
      <Table
        label="Rings at muxes"
        columns={COLUMNS}
        rows={shown}
        rowKey={(row) => `${row.mux} ${row.service}`}
        order={{ by: "behind", isDescending: true }}
        empty="None is behind, withdrawn or refused."
        tools={
          <label class="check">
            <input type="checkbox" checked={isAll.value} onChange={(event) => (isAll.value = event.currentTarget.checked)} />
            also those in step
          </label>
        }
      />
    </>
  );
}

/** A row for each mux, a column for each service: the taller and warmer, the further behind. */
function Grid({ muxes, services, rows }: { muxes: Mux[]; services: Service[]; rows: LagRow[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const current = theme.value;
  const height = Math.max(6, Math.min(22, Math.floor(440 / Math.max(1, muxes.length))));
  useEffect(() => {
    const node = canvas.current!;
    const draw = () => {
      const scale = devicePixelRatio;
      const width = node.clientWidth;
      node.width = Math.round(width * scale);
      node.height = Math.round(height * muxes.length * scale);
      const paint = node.getContext("2d")!;
      paint.scale(scale, scale);
      const cell = Math.min(CELL_MOST, width / Math.max(1, services.length));
      const gap = cell > 4 && height > 4 ? 1 : 0;
      const [good, warn, bad] = [colour("--good"), colour("--warn"), colour("--bad")];
      rows.forEach((row, index) => {
        const x = (index % services.length) * cell;
        const y = Math.floor(index / services.length) * height;
        const lag = behind(row);
        paint.fillStyle = row.state !== "serving" ? bad : lag ? warn : good;
        // Not by colour alone: what is in step is a thin line.
        const part = row.state !== "serving" ? 1 : Math.min(1, 0.25 + 0.15 * lag);
        paint.fillRect(x, y + (height - gap) * (1 - part), Math.max(0.5, cell - gap), (height - gap) * part);
      });
    };
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(node);
    return () => observer.disconnect();
  }, [rows, current, height]);
  return (
    <figure class="lag">
      <figcaption>
        A row for each mux, {muxes[0]?.id} first; a column for each service, {services[0]?.name} first.
        Low bars are in step, higher ones behind; full ones are not served.
      </figcaption>
      <canvas
        ref={canvas}
        role="img"
        aria-label="Lag of each mux in each service; the table below says the same"
        style={{ width: "100%", height: `${height * muxes.length}px` }}
      />
    </figure>
  );
}
