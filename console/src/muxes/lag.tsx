// SPDX-License-Identifier: Apache-2.0
//
// How far each mux is behind each service's committed generation, as a picture that has room for 100 muxes and 1,000
// services, and as a table of what is not as it should be.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Mux, Service } from "../../generated/schema";
import { serviceColumn } from "../parts/columns";
import { whole } from "../parts/figures";
import { type Column, Table } from "../parts/table";
import { colour, theme } from "../theme";
import { behind, lagRows, type LagRow, type Lags, lags, UNSERVED } from "./lags";

const CELL_MOST = 40; // pixels

const isFine = (row: LagRow) => row.state === "serving" && behind(row) === 0;

const COLUMNS: Column<LagRow>[] = [
  { key: "mux", title: "Mux", value: (row) => row.mux },
  serviceColumn((row) => row.service),
  { key: "generation", title: "Generation", isNumber: true, value: (row) => row.generation },
  { key: "committed", title: "Committed", isNumber: true, value: (row) => row.committed },
  {
    key: "behind",
    title: "Behind",
    isNumber: true,
    value: behind,
    render: (row) => <span class={behind(row) ? "warn" : "good"}>{behind(row)}</span>,
  },
  {
    key: "state",
    title: "State",
    value: (row) => row.state,
    render: (row) => <span class={isFine(row) ? "good" : "warn"}>{row.state}</span>,
  },
  { key: "why", title: "Why", value: (row) => row.why },
];

export function Lag({ muxes, services }: { muxes: Mux[]; services: Service[] }) {
  const isAll = useSignal(false);
  const found = useMemo(() => lags(muxes, services), [muxes, services]);
  const shown = useMemo(() => lagRows(muxes, services, found, isAll.value), [found, isAll.value]);
  const others = found.reduce((sum, one) => sum + (one === UNSERVED ? 1 : 0), 0);
  const late = found.reduce((sum, one) => sum + (one > 0 ? 1 : 0), 0) - others;
  if (!found.length) return <p class="empty">There is no mux or no service.</p>;
  return (
    <>
      <p class={late + others ? "warn" : "good"} role="status">
        {late + others
          ? `Rings on muxes: ${whole(found.length)}, of which ${whole(late)} behind and ${whole(others)} not served.`
          : `Rings on muxes: ${whole(found.length)}, all at the committed generation.`}
      </p>
      <Grid muxes={muxes} services={services} found={found} />
      <Table
        label="Rings on muxes"
        columns={COLUMNS}
        rows={shown}
        rowKey={(row) => `${row.mux} ${row.service}`}
        order={{ by: "behind", isDescending: true }}
        empty="No ring is behind, withdrawn or refused."
        tools={
          <label class="check">
            <input
              type="checkbox"
              checked={isAll.value}
              onChange={(event) => (isAll.value = event.currentTarget.checked)}
            />
            show those that are up to date
          </label>
        }
      />
    </>
  );
}

/** A row for each mux, a column for each service: the taller and warmer, the further behind. */
function Grid({ muxes, services, found }: { muxes: Mux[]; services: Service[]; found: Lags }) {
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
      for (let row = 0; row < muxes.length; row++) {
        const top = row * height;
        for (let column = 0; column < services.length;) {
          const lag = found[row * services.length + column]!;
          const begin = column++;
          // Neighbours that are alike are one bar where there is no gap.
          while (!gap && column < services.length && found[row * services.length + column] === lag) column++;
          paint.fillStyle = lag === UNSERVED ? bad : lag ? warn : good;
          // Not by colour alone: what is in step is a thin line.
          const part = lag === UNSERVED ? 1 : Math.min(1, 0.25 + 0.15 * lag);
          const wide = Math.max(0.5, (column - begin) * cell - gap);
          paint.fillRect(begin * cell, top + (height - gap) * (1 - part), wide, (height - gap) * part);
        }
      }
    };
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(node);
    return () => observer.disconnect();
  }, [found, current, height]);
  return (
    <figure class="lag">
      <figcaption>
        A row for each mux, {muxes[0]?.id} first; a column for each service, {services[0]?.name} first. A low bar is up
        to date, a higher one is behind, a full one is not served.
      </figcaption>
      <canvas
        ref={canvas}
        role="img"
        aria-label="Lag of each mux in each service; the table below has the same data"
        style={{ width: "100%", height: `${height * muxes.length}px` }}
      />
    </figure>
  );
}
