// SPDX-License-Identifier: Apache-2.0
//
// Flows of buckets between two columns of backends, each as wide as it is large. The smallest beyond so many are one.
import type { Flow } from "./edits";

export const WIDTH = 960;
export const SHOWN = 24;
const LEFT = 240;
const RIGHT = 720;
const THICK = 260; // of all flows together
const GAP = 14;
const LEAST = 2;

interface Ribbon {
  flow: Flow;
  /** Centres of its ends, and its thickness. */
  fromY: number;
  toY: number;
  thick: number;
}

export interface End {
  id: number;
  buckets: number;
  connections: number | undefined;
  y: number;
  thick: number;
}

interface Picture {
  height: number;
  ribbons: Ribbon[];
  from: End[];
  to: End[];
  /** Flows that are not drawn, and their buckets. */
  more: number;
  moreBuckets: number;
}

export function picture(all: Flow[]): Picture {
  const shown = all.slice(0, SHOWN);
  const rest = all.slice(SHOWN);
  const total = Math.max(1, sum(shown));
  const thick = (buckets: number) => Math.max(LEAST, (THICK * buckets) / total);
  const from = column(shown, (flow) => flow.from, thick);
  const to = column(shown, (flow) => flow.to, thick);
  const tops = {
    from: new Map(from.map((end) => [end.id, top(end)])),
    to: new Map(to.map((end) => [end.id, top(end)])),
  };
  const place = (side: "from" | "to", id: number, size: number) => {
    const at = tops[side].get(id)!;
    tops[side].set(id, at + size);
    return at + size / 2;
  };
  const ribbons = shown.map((flow) => {
    const size = thick(flow.buckets);
    return { flow, fromY: place("from", flow.from, size), toY: place("to", flow.to, size), thick: size };
  });
  const bottom = Math.max(40, ...[...from, ...to].map((end) => end.y + end.thick / 2));
  return { height: bottom + GAP, ribbons, from, to, more: rest.length, moreBuckets: sum(rest) };
}

const sum = (flows: Flow[]) => flows.reduce((all, flow) => all + flow.buckets, 0);
const top = (end: End) => end.y - end.thick / 2;

function column(flows: Flow[], end: (flow: Flow) => number, thick: (buckets: number) => number): End[] {
  const ids = [...new Set(flows.map(end))];
  let y = GAP;
  return ids.map((id) => {
    const own = flows.filter((flow) => end(flow) === id);
    const size = own.reduce((all, flow) => all + thick(flow.buckets), 0);
    const room = Math.max(size, 26); // for two lines of text
    const known = own.every((flow) => flow.connections !== undefined);
    const at = {
      id,
      buckets: sum(own),
      connections: known ? own.reduce((all, flow) => all + flow.connections!, 0) : undefined,
      y: y + room / 2,
      thick: size,
    };
    y += room + GAP;
    return at;
  });
}

/** The outline of a ribbon. */
export function outline({ fromY, toY, thick }: Ribbon): string {
  const half = thick / 2;
  const middle = (LEFT + RIGHT) / 2;
  return (
    `M${LEFT} ${fromY - half}C${middle} ${fromY - half} ${middle} ${toY - half} ${RIGHT} ${toY - half}` +
    `V${toY + half}C${middle} ${toY + half} ${middle} ${fromY + half} ${LEFT} ${fromY + half}Z`
  );
}

export const COLUMN = { left: LEFT, right: RIGHT };
