// SPDX-License-Identifier: Apache-2.0
//
// A resource that is read again and again while a component shows it. Unchanged ones are answered 304 by their tag.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ApiError, call, type Reply, text } from "./client";
import { onEvent } from "./events";

const SOON_MILLIS = 100;
/** Between two readings, in times of what the first one took. */
const PAUSE = 4;
const TOOK_MOST_MILLIS = 2500;

interface Polled<T> {
  /** Undefined before the first answer. The last good one while errors last. */
  data: Signal<T | undefined>;
  error: Signal<string>;
  /** The version of `data`, for If-Match. */
  etag: Signal<string>;
  status: Signal<number>;
  /** Reads at once. */
  again: () => void;
}

interface Paging {
  /** Entries of a page. */
  limit: number;
  /** After so many entries the rest is not asked for. */
  most: number;
}

/** A list page by page, each taken in before the next is asked for, so that none of them stops the browser for long. */
async function readPages<T>(path: string, { limit, most }: Paging, signal: AbortSignal): Promise<T> {
  const all: unknown[] = [];
  let next: string | undefined = `${path}${path.includes("?") ? "&" : "?"}limit=${limit}`;
  while (next && all.length < most) {
    const reply: Reply<unknown[]> = await call<unknown[]>(next, { signal });
    for (const each of reply.body ?? []) all.push(each);
    next = /<([^>]+)>; *rel="next"/.exec(reply.headers.get("Link") ?? "")?.[1];
  }
  return all as T;
}

/** Reads `path` every `seconds`, and after events of the kinds `on`; an empty path reads nothing. */
export function usePolled<T>(path: string, seconds: number, on: string[] = [], paging?: Paging): Polled<T> {
  const data = useSignal<T | undefined>(undefined);
  const error = useSignal("");
  const etag = useSignal("");
  const status = useSignal(0);
  const again = useRef(() => {});
  const kinds = on.join(" ");

  useEffect(() => {
    data.value = undefined;
    etag.value = error.value = "";
    if (!path) return;
    const stop = new AbortController();
    let timer = 0;
    let isRunning = false;
    let isWanted = false;
    /** When the next reading may begin: large answers are not asked for all the time, however much happens. */
    let earliest = 0;
    const soon = () => {
      if (isRunning) isWanted = true;
      else {
        clearTimeout(timer);
        timer = window.setTimeout(read, Math.max(0, earliest - performance.now()));
      }
    };
    const read = async () => {
      if (isRunning) {
        isWanted = true;
        return;
      }
      isRunning = true;
      clearTimeout(timer);
      const begun = performance.now();
      try {
        if (paging) data.value = await readPages<T>(path, paging, stop.signal);
        else {
          const reply = await call<T>(path, { ifNoneMatch: etag.value, signal: stop.signal });
          if (reply.body !== undefined) data.value = reply.body;
          if (reply.etag) etag.value = reply.etag;
          status.value = reply.status;
        }
        error.value = "";
      } catch (failure) {
        if (stop.signal.aborted) return;
        error.value = text(failure);
        status.value = failure instanceof ApiError ? failure.status : 0;
      } finally {
        isRunning = false;
      }
      const now = performance.now();
      const took = error.value ? 0 : Math.min(now - begun, TOOK_MOST_MILLIS);
      earliest = now + Math.max(SOON_MILLIS, PAUSE * took);
      const wanted = isWanted ? 0 : (document.hidden ? 10 : 1) * seconds * 1000;
      timer = window.setTimeout(read, Math.max(wanted, earliest - now));
      isWanted = false;
    };
    again.current = () => void read();
    void read();
    const off = onEvent((event) => kinds.split(" ").includes(event.kind) && soon());
    return () => {
      stop.abort();
      clearTimeout(timer);
      off();
    };
  }, [path, seconds, kinds, paging?.limit, paging?.most]);
  return { data, error, etag, status, again: () => again.current() };
}
