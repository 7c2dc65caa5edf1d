// SPDX-License-Identifier: Apache-2.0
//
// The metrics of muxes, read again and again while a page shows them.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { refused, send, text } from "../api/client";

/** What was made of a mux's latest metrics, or why they cannot be read. */
interface Metered<T> {
  now?: T;
  error?: string;
}

/** Makes what is shown of a page of metrics, and of what the page before gave. Seconds since any moment. */
type Step<T> = (page: string, seconds: number, before: T | undefined) => T;

const AT_ONCE = 4; // of about six that a browser has open to one controller
const PATIENCE = 10; // rounds without a mux that could not be read

async function page(id: string, signal: AbortSignal): Promise<string> {
  const response = await send(`/v1/muxes/${encodeURIComponent(id)}/metrics`, { signal });
  if (!response.ok) throw await refused(response);
  return response.text();
}

/** By mux of `ids`, read every `seconds` while the page is seen. `step` must be the same function at each call. */
export function useMuxMetrics<T>(ids: string[], seconds: number, step: Step<T>): Signal<Map<string, Metered<T>>> {
  const all = useSignal(new Map<string, Metered<T>>());
  const names = ids.join("\n");
  useEffect(() => {
    const wanted = names ? names.split("\n") : [];
    const rounds = new Map<string, number>();
    const stop = new AbortController();
    let timer = 0;
    const read = async (id: string): Promise<Metered<T>> => {
      const before = all.value.get(id);
      const wait = rounds.get(id) ?? 0;
      rounds.set(id, wait - 1);
      if (wait > 0 && before) return before;
      try {
        const found = await page(id, stop.signal);
        return { now: step(found, performance.now() / 1000, before?.now) };
      } catch (failure) {
        rounds.set(id, PATIENCE);
        return { error: text(failure) };
      }
    };
    const round = async () => {
      const next = new Map<string, Metered<T>>();
      for (let first = 0; first < wanted.length && !stop.signal.aborted; first += AT_ONCE) {
        const some = wanted.slice(first, first + AT_ONCE);
        const found = await Promise.all(some.map(read));
        some.forEach((id, index) => next.set(id, found[index]!));
      }
      if (stop.signal.aborted) return;
      all.value = next;
      timer = window.setTimeout(round, (document.hidden ? 10 : 1) * seconds * 1000);
    };
    void round();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [names, seconds]);
  return all;
}
