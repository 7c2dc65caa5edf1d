// SPDX-License-Identifier: Apache-2.0
//
// What part of the ring a backend should have and has.
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

/** Places of the rows with the most buckets, the largest first; a sort of 65,535 rows would take longer than a frame. */
export function largestShares(list: Row[], most: number): number[] {
  const found: number[] = [];
  list.forEach((row, index) => {
    if (found.length === most && row.buckets <= list[found[most - 1]!]!.buckets) return;
    let at = Math.min(found.length, most - 1);
    while (at > 0 && list[found[at - 1]!]!.buckets < row.buckets) {
      found[at] = found[at - 1]!;
      at--;
    }
    found[at] = index;
  });
  return found;
}
