// SPDX-License-Identifier: Apache-2.0
//
// What part of the ring a backend should have and has, and what a generation changed.
import type { Agent, Backend } from "../../generated/schema";

export interface Row extends Backend {
  wanted: number;
  real: number;
  connections: number | undefined;
  opened: number | undefined;
}

/** What counts of a weight: nothing of a backend out of service, a part while it starts slowly. */
function effective(backend: Backend): number {
  return backend.state === "active" ? backend.weight * (backend.slowStart?.share ?? 1) : 0;
}

export function rows(backends: Backend[], agents: Agent[], buckets: number): Row[] {
  const weights = backends.reduce((sum, backend) => sum + effective(backend), 0);
  const known = new Map(agents.map((agent) => [agent.backend, agent]));
  return backends.map((backend) => {
    const agent = known.get(backend.id);
    const isHeard = agent?.state === "reporting";
    return {
      ...backend,
      wanted: weights ? effective(backend) / weights : 0,
      real: backend.buckets / buckets,
      connections: isHeard ? (agent.established ?? 0) + (agent.halfOpen ?? 0) : undefined,
      opened: isHeard ? agent.openedPerSecond : undefined,
    };
  });
}

export interface Seen {
  generation: number;
  at: number;
  /** Buckets by backend. */
  owned: Map<number, number>;
}

/** Buckets that each backend won or lost between two states, the largest changes first. */
export function difference(before: Seen | undefined, after: Seen): [number, number][] {
  if (!before) return [];
  const ids = new Set([...before.owned.keys(), ...after.owned.keys()]);
  return [...ids]
    .map((id): [number, number] => [id, (after.owned.get(id) ?? 0) - (before.owned.get(id) ?? 0)])
    .filter(([, change]) => change !== 0)
    .sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]) || a[0] - b[0]);
}
