// SPDX-License-Identifier: Apache-2.0
//
// Where the parts of the drawing are: router, muxes and servers in three columns, at most so many of each. The rest is one
// node that says how many there are.
interface Node {
  id: string;
  title: string;
  note: string;
  x: number;
  y: number;
  state: "good" | "warn" | "bad";
  href: string;
}

import { whole } from "../parts/figures";
interface Line {
  from: [number, number];
  to: [number, number];
  /** Part of the busiest line, 0 to 1; undefined if unknown. */
  load: number | undefined;
}

export interface Part {
  id: string;
  title: string;
  note: string;
  state: Node["state"];
  href: string;
  rate: number | undefined;
}

export const SHOWN = 12;
const ROW = 46;
const COLUMNS = [100, 440, 800];
export const WIDTH = 900;

/** The first so many, and one for the rest. */
export function folded(parts: Part[], all: number, noun: string, href: string): Part[] {
  if (all <= SHOWN) return parts.slice(0, SHOWN);
  const shown = parts.slice(0, SHOWN - 1);
  const rest = parts.slice(SHOWN - 1);
  const rates = rest.map((part) => part.rate).filter((rate) => rate !== undefined);
  return [
    ...shown,
    {
      id: "more",
      title: `${whole(all - shown.length)} more ${noun}`,
      note: "",
      state: rest.some((part) => part.state === "bad") ? "bad" : "good",
      href,
      rate: rates.length ? rates.reduce((sum, rate) => sum + rate, 0) : undefined,
    },
  ];
}

export interface Drawing {
  height: number;
  nodes: Node[];
  lines: Line[];
}

export function draw(router: Part, muxes: Part[], servers: Part[]): Drawing {
  const height = Math.max(1, muxes.length, servers.length) * ROW + 20;
  const place = (parts: Part[], column: number): Node[] =>
    parts.map(({ id, title, note, state, href }, row) => ({
      ...{ id: `${column}/${id}`, title, note, state, href },
      x: COLUMNS[column]!,
      y: (height * (row + 0.5)) / parts.length,
    }));
  const [at] = place([router], 0);
  const middle = place(muxes, 1);
  const right = place(servers, 2);
  const most = Math.max(1e-9, ...muxes.map((mux) => mux.rate ?? 0));
  const busiest = Math.max(1e-9, ...servers.map((server) => server.rate ?? 0));
  const lines: Line[] = [
    ...middle.map((mux, index) => ({
      from: [at!.x + 95, at!.y] as [number, number],
      to: [mux.x - 95, mux.y] as [number, number],
      load: part(muxes[index]!.rate, most),
    })),
    ...middle.flatMap((mux) =>
      right.map((server, index) => ({
        from: [mux.x + 95, mux.y] as [number, number],
        to: [server.x - 95, server.y] as [number, number],
        load: part(servers[index]!.rate, busiest),
      })),
    ),
  ];
  return { height, nodes: [at!, ...middle, ...right], lines };
}

const part = (rate: number | undefined, most: number) => (rate === undefined ? undefined : Math.min(1, rate / most));

/** Curved path of a line. */
export function path({ from, to }: Line): string {
  const middle = (from[0] + to[0]) / 2;
  return `M${from[0]} ${from[1]}C${middle} ${from[1]} ${middle} ${to[1]} ${to[0]} ${to[1]}`;
}
