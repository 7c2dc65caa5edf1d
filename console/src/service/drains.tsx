// SPDX-License-Identifier: Apache-2.0
//
// Backends that drain, and how far they are: the part of the connections of the beginning that is gone.
import { useEffect, useRef } from "preact/hooks";
import type { Drain } from "../../generated/schema";
import { usePolled } from "../api/poll";
import { duration, moment, whole } from "../parts/figures";

export function Drains({ service }: { service: string }) {
  const { data, error } = usePolled<Drain[]>("/v1/drains", 3, ["drain", "service"]);
  const most = useRef(new Map<string, number>());
  const drains = (data.value ?? []).filter((drain) => drain.service === service);
  useEffect(() => {
    for (const drain of drains) {
      const key = `${drain.backend} ${drain.since}`;
      most.current.set(key, Math.max(most.current.get(key) ?? 0, drain.connections ?? 0));
    }
  });
  if (error.value) return <p class="hint">Cannot read drains: {error.value}</p>;
  if (!data.value) return <p class="hint">Loading</p>;
  if (!drains.length) return <p class="hint">No backend is draining.</p>;
  return (
    <ul class="drains">
      {drains.map((drain) => {
        const begun = Math.max(most.current.get(`${drain.backend} ${drain.since}`) ?? 0, drain.connections ?? 0);
        const isOver = drain.state !== "draining";
        const done = isOver ? 1 : begun ? 1 - (drain.connections ?? begun) / begun : 0;
        return (
          <li key={`${drain.backend} ${drain.since}`}>
            <div>
              <strong>Backend {drain.backend}</strong> {drain.address} <span class="tag">{drain.state}</span>{" "}
              <span class="hint">
                since {moment(drain.since)}
                {drain.end && `, ended ${moment(drain.end.at)}`}
                {drain.then === "remove" && ", then remove"}
              </span>
            </div>
            <progress max={1} value={done} aria-label={`Drain of backend ${drain.backend}`} />
            <div class="hint">{isOver ? drain.note : left(drain)}</div>
          </li>
        );
      })}
    </ul>
  );
}

function left(drain: Drain): string {
  const parts = [
    drain.connections === undefined ? "connections unknown" : `${whole(drain.connections)} connections left`,
  ];
  if (drain.rate) parts.push(`${drain.rate} end per second`);
  if (drain.secondsLeft !== undefined) parts.push(`about ${duration(drain.secondsLeft)}`);
  if (drain.deadline) parts.push(`deadline in ${duration(Math.max(0, drain.deadline - Date.now() / 1000))}`);
  if (drain.note) parts.push(drain.note);
  return parts.join(" · ");
}
