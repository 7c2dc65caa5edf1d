// SPDX-License-Identifier: Apache-2.0
//
// Edits of a pool, what they ask of the API, and what somebody else changed meanwhile.
import type { Backend, Changes, Leaving, Move } from "../../generated/schema";
import { text } from "../api/client";

export type Change = Changes["changes"][number];

interface Added {
  id: number;
  address: string;
  weight: number;
}

/** By id of a backend that is there: a new weight, or that it goes. */
export type Edits = ReadonlyMap<number, { weight: number } | { remove: "gracefully" | "dead" }>;

/** What a user has edited and typed. */
export interface Draft {
  edits: Edits;
  /** Lines of backends to add. */
  more: string;
}

export const NO_EDITS: Draft = { edits: new Map(), more: "" };

export const WEIGHT_MAX = 65_535;
const ID_MAX = 65_535;

/** Lines of an id, an address and perhaps a weight. Throws an Error that names the line. */
export function parseAdded(text: string): Added[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      const [id, address, weight = "100", more] = line.split(/[\s,]+/);
      if (!address || more !== undefined) throw new Error(`'${line}' is refused; allowed: ID ADDRESS [WEIGHT]`);
      return { id: whole(line, "id", id!, 1, ID_MAX), address, weight: whole(line, "weight", weight, 0, WEIGHT_MAX) };
    });
}

function whole(line: string, name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most) {
    throw new Error(`${name} '${text}' in '${line}' is refused; allowed: ${least}..${most}`);
  }
  return value;
}

/** What a draft asks for, as far as it differs from the pool as it is, and what is wrong with its lines. */
export function asks(backends: Backend[], { edits, more }: Draft): { wanted: Change[]; wrong: string } {
  const weights = new Map(backends.map((backend) => [backend.id, backend.weight]));
  const wanted = [...edits].flatMap(([id, edit]): Change[] => {
    if (!weights.has(id)) return [];
    if ("remove" in edit) return [{ op: "remove", id, dead: edit.remove === "dead" }];
    return edit.weight === weights.get(id) ? [] : [{ op: "weight", id, weight: edit.weight }];
  });
  try {
    return { wanted: [...wanted, ...parseAdded(more).map((each): Change => ({ op: "add", ...each }))], wrong: "" };
  } catch (failure) {
    return { wanted, wrong: text(failure) };
  }
}

interface Difference {
  id: number;
  was: string;
  is: string;
}

const said = (backend: Backend | undefined) =>
  backend ? `${backend.address}, weight ${backend.weight}, ${backend.state}` : "not there";

/** Backends that differ between two states of a pool, by id. Buckets alone are no difference. */
export function differences(before: Backend[], now: Backend[]): Difference[] {
  const then = new Map(before.map((backend) => [backend.id, backend]));
  const current = new Map(now.map((backend) => [backend.id, backend]));
  return [...new Set([...then.keys(), ...current.keys()])]
    .sort((a, b) => a - b)
    .map((id) => ({ id, was: said(then.get(id)), is: said(current.get(id)) }))
    .filter(({ was, is }) => was !== is);
}

export interface Flow {
  from: number;
  to: number;
  buckets: number;
  /** That live in these buckets, a part of those of all buckets that the backend gives; undefined if unknown. */
  connections: number | undefined;
}

/** Moves summed up by pair of backends, the largest first. */
export function flows(moves: Move[], leaving: Leaving[]): Flow[] {
  const sums = new Map<string, Flow>();
  for (const { from, to, count } of moves) {
    const key = `${from} ${to}`;
    const flow = sums.get(key) ?? { from, to, buckets: 0, connections: undefined };
    flow.buckets += count;
    sums.set(key, flow);
  }
  const given = new Map(leaving.map((each) => [each.backend, each]));
  for (const flow of sums.values()) {
    const all = given.get(flow.from);
    if (all?.connections !== undefined) flow.connections = (all.connections * flow.buckets) / all.buckets;
  }
  return [...sums.values()].sort((a, b) => b.buckets - a.buckets || a.from - b.from || a.to - b.to);
}
