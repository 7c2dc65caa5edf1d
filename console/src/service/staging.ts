// SPDX-License-Identifier: Apache-2.0
//
// A change of weights that takes effect in steps, in words.
import type { StageStatus, Staging } from "../../generated/schema";
import { duration, moment, percent, plural } from "../parts/figures";

/** 1.0 %, 10 %, 100 % */
export const shares = (staging: Staging) => staging.shares.map(percent).join(", ");

/** What is next, at a time in Unix seconds; of one that is over why it ended. */
export function next(staging: Staging, now: number): string {
  if (staging.ended !== undefined) {
    return `${staging.state.replace("_", " ")} ${moment(staging.ended)}: ${staging.why ?? ""}`;
  }
  const due = Math.max(0, (staging.due ?? now) - now);
  const what = staging.next === undefined ? "done" : `${percent(staging.next)}`;
  return `${what} ${due ? `in ${duration(due)}` : "as soon as agents report nothing wrong"}`;
}

/** Whose buckets move. */
export function who(staging: Staging): string {
  const [first] = staging.backends;
  return staging.backends.length === 1 ? `Backend ${first}` : plural(staging.backends.length, "backend");
}

/** What agents have counted since the step, by backend; the others last. */
export function counts(status: StageStatus): [string, string][] {
  const signals = (status.signals ?? []).map(({ backend, counts }): [string, string] => [
    `backend ${backend}`,
    counted(counts),
  ]);
  return signals.length && status.others ? [...signals, ["others", counted(status.others)]] : signals;
}

function counted({ opened, refused, resets, retransmitted, segments, rttMillis }: StageStatus["others"] & {}): string {
  return [
    `${plural(opened, "connection")} opened`,
    `${refused} refused`,
    `${resets} reset`,
    `${retransmitted} of ${plural(segments, "segment")} sent again`,
    rttMillis && `${rttMillis.toFixed(1)} ms`,
  ]
    .filter(Boolean)
    .join(" · ");
}
