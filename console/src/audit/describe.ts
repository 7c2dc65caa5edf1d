// SPDX-License-Identifier: Apache-2.0
//
// An event of the API in words.
import type { ApiEvent } from "../api/events";
import { plural } from "../parts/figures";

type Data = Record<string, unknown>;

const list = (value: unknown): Data[] => (Array.isArray(value) ? (value as Data[]) : []);
const numbers = (value: unknown): number[] => (Array.isArray(value) ? (value as number[]) : []);

/** Services that the event is about; of a mux those that changed at it. */
export function serviceOfEvent(event: Pick<ApiEvent, "data">): string[] {
  const { service, services } = event.data;
  if (typeof service === "string") return [service];
  return services && typeof services === "object" ? Object.keys(services) : [];
}

export function describe(event: Pick<ApiEvent, "kind" | "data">): string {
  const data = event.data;
  switch (event.kind) {
    case "start":
      return data.resumed
        ? "the stream of events continues without a gap"
        : "the stream of events begins; earlier ones are unknown";
    case "service":
      return data.deleted ? "deleted" : `generation ${data.generation}, version ${data.version}`;
    case "hold":
      return `generation ${data.generation}: ${plural(Number(data.chainedBuckets ?? 0), "bucket")} chained, ${data.before ?? "?"} before`;
    case "slowStart": {
      const starting = list(data.starting).map((each) => `${each.backend} at ${percent(each.share)}`);
      const ended = numbers(data.ended);
      return [starting.length && `starting: ${starting.join(", ")}`, ended.length && `ended: ${ended.join(", ")}`]
        .filter(Boolean)
        .join("; ");
    }
    case "stage":
      return staged((data.staging as Data) ?? {});
    case "drain":
      return [...list(data.drains).map(drain), ...numbers(data.over).map((id) => `backend ${id}: cancelled`)].join(
        "; ",
      );
    case "mux":
      return data.gone
        ? `${data.mux} is gone`
        : `${data.mux}: ${Object.entries((data.services as Data) ?? {})
            .map(ring)
            .join(", ")}`;
    case "controller":
      return controller(data);
    default:
      return JSON.stringify(data);
  }
}

const percent = (share: unknown) => `${Math.round(100 * Number(share ?? 0))} %`;

function staged(data: Data): string {
  const state = String(data.state ?? "").replace("_", " ");
  const what = `staged change of ${plural(numbers(data.backends).length, "backend")} at ${percent(data.share)}`;
  return data.why === undefined ? what : `${what}, ${state}: ${data.why}`;
}

function drain(each: Data): string {
  const words = [`backend ${each.backend}: ${each.state}`];
  if (each.connections !== undefined) words.push(plural(Number(each.connections), "connection"));
  if (each.reason) words.push(String(each.reason));
  return words.join(", ");
}

function ring([service, state]: [string, unknown]): string {
  const { generation, state: word, withdrawn, refused } = (state ?? {}) as Data;
  const more = withdrawn ?? refused;
  return `${service} generation ${generation ?? 0}${word === "serving" && !more ? "" : ` (${more ?? word})`}`;
}

function controller(data: Data): string {
  const role = data.leader ? "leads" : data.leaderUrl ? `follows ${String(data.leaderUrl)}` : "no leader";
  return `${role}, epoch ${data.epoch}, ZooKeeper ${data.zookeeper}`;
}
