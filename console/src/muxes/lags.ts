// SPDX-License-Identifier: Apache-2.0
//
// How far each mux is behind each service's committed generation.
import type { Mux, Service } from "../../generated/schema";

export interface LagRow {
  mux: string;
  service: string;
  generation: number;
  committed: number;
  state: string;
  why: string;
}

/** Of each mux each service, in this order: how many generations it is behind, at most 254, or that it is not served. */
export type Lags = Uint8Array;
export const UNSERVED = 255;

function lagRow(mux: Mux, service: Service): LagRow {
  const at = mux.services[service.name];
  return {
    mux: mux.id,
    service: service.name,
    generation: at?.generation ?? 0,
    committed: service.generation,
    state: at?.refused ? "refused" : at?.withdrawn ? "withdrawn" : (at?.state ?? "unknown"),
    why: [at?.refused, at?.withdrawn, at?.why].filter(Boolean).join(": "),
  };
}

/** Without an object for each of what may be 100,000. */
export function lags(muxes: Mux[], services: Service[]): Lags {
  const found = new Uint8Array(muxes.length * services.length);
  let index = 0;
  for (const mux of muxes) {
    for (const service of services) {
      const at = mux.services[service.name];
      const isServed = at?.state === "serving" && !at.refused && !at.withdrawn;
      found[index++] = isServed ? Math.max(0, Math.min(UNSERVED - 1, service.generation - at.generation)) : UNSERVED;
    }
  }
  return found;
}

/** Of all, or of those that are not in step. */
export function lagRows(muxes: Mux[], services: Service[], found: Lags, isAll: boolean): LagRow[] {
  const rows: LagRow[] = [];
  for (let index = 0; index < found.length; index++) {
    if (isAll || found[index]) {
      rows.push(lagRow(muxes[Math.floor(index / services.length)]!, services[index % services.length]!));
    }
  }
  return rows;
}

export const behind = (row: LagRow) => Math.max(0, row.committed - row.generation);
