// SPDX-License-Identifier: Apache-2.0
//
// Lines over time, drawn by uPlot; a sentence says the latest values for screen readers.
import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { colour, theme } from "../theme";
import { clock, short } from "./figures";
import { lineColour } from "./palette";

/** Seconds and one list of values per line; null where there is none. */
interface Series {
  names: string[];
  times: number[];
  values: (number | null)[][];
}

/** Lines of a chart of many. */
export const LINES_MOST = 8;

/** The largest of these values, as many as a chart has lines. */
export function largest(values: [string, number][]): Record<string, number> {
  return Object.fromEntries([...values].sort((a, b) => b[1] - a[1]).slice(0, LINES_MOST));
}

/** The series with one more point, at most `kept` of them. Lines that are new begin with gaps. */
function extend(series: Series, at: number, point: Record<string, number | null>, kept = 600): Series {
  const names = [...new Set([...series.names, ...Object.keys(point)])];
  const from = Math.max(0, series.times.length + 1 - kept);
  return {
    names,
    times: [...series.times, at].slice(from),
    values: names.map((name) => {
      const line = series.names.indexOf(name);
      const before = line < 0 ? series.times.map(() => null) : series.values[line]!;
      return [...before, point[name] ?? null].slice(from);
    }),
  };
}

const NO_SERIES: Series = { names: [], times: [], values: [] };

/** A series that grows while a component shows it; `add` takes the values of now. */
export function useSeries(): { series: Series; add: (point: Record<string, number | null>) => void } {
  const series = useSignal(NO_SERIES);
  return { series: series.value, add: (point) => (series.value = extend(series.value, Date.now() / 1000, point)) };
}

export function Chart({ label, series, unit = "", height = 180 }: ChartProps): VNode {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const names = series.names.join("\n");
  const current = theme.value;

  useEffect(() => {
    const node = box.current!;
    const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    plot.current = new uPlot(
      {
        width: Math.max(200, node.clientWidth),
        height,
        cursor: { points: { size: 6 } },
        legend: { live: true },
        scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
        axes: [
          { ...axis, values: (_, ticks) => ticks.map(clock) },
          { ...axis, size: 60, values: (_, ticks) => ticks.map((tick) => short(tick) + unit) },
        ],
        series: [
          { value: (_: uPlot, at: number | null) => (at === null ? "–" : clock(at)) },
          ...series.names.map((name, index) => ({
            label: name,
            stroke: lineColour(index),
            width: 2,
            dash: index < 8 ? undefined : [6, 4],
            value: (_: uPlot, value: number | null) => (value === null ? "–" : short(value) + unit),
          })),
        ],
      },
      data(series),
      node,
    );
    const observer = new ResizeObserver(() => {
      plot.current?.setSize({ width: Math.max(200, node.clientWidth), height });
    });
    observer.observe(node);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
    };
  }, [names, current, height, unit]);

  useEffect(() => {
    plot.current?.setData(data(series));
    // Without a pointer over it, the legend has the latest values.
    if (plot.current?.cursor.idx == null && series.times.length) {
      plot.current?.setLegend({ idx: series.times.length - 1 }, false);
    }
  }, [series, names, current]);

  const latest = series.names.map((name, index) => {
    const value = series.values[index]!.at(-1);
    return `${name} ${value === null || value === undefined ? "unknown" : short(value) + unit}`;
  });
  return (
    <figure class="chart">
      <figcaption>{label}</figcaption>
      <div ref={box} role="img" aria-label={`${label}: ${latest.join(", ") || "no values yet"}`} />
    </figure>
  );
}

interface ChartProps {
  label: string;
  series: Series;
  unit?: string;
  height?: number;
}

function data(series: Series): uPlot.AlignedData {
  return [series.times, ...series.values] as uPlot.AlignedData;
}
