// SPDX-License-Identifier: Apache-2.0
//
// A resource that is read again and again while a component shows it. Unchanged ones are answered 304 by their tag.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ApiError, call, text } from "./client";
import { onEvent } from "./events";

export interface Polled<T> {
  /** Undefined before the first answer. The last good one while errors last. */
  data: Signal<T | undefined>;
  error: Signal<string>;
  /** The version of `data`, for If-Match. */
  etag: Signal<string>;
  status: Signal<number>;
  /** Reads at once. */
  again: () => void;
}

/**
 * Reads `path` every `seconds`, and after events of the kinds `on`; an empty path reads nothing.
 */
export function usePolled<T>(path: string, seconds: number, on: string[] = []): Polled<T> {
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
    const read = async () => {
      if (isRunning) {
        isWanted = true;
        return;
      }
      isRunning = true;
      clearTimeout(timer);
      try {
        const reply = await call<T>(path, { ifNoneMatch: etag.value, signal: stop.signal });
        if (reply.body !== undefined) data.value = reply.body;
        if (reply.etag) etag.value = reply.etag;
        status.value = reply.status;
        error.value = "";
      } catch (failure) {
        if (stop.signal.aborted) return;
        error.value = text(failure);
        status.value = failure instanceof ApiError ? failure.status : 0;
      } finally {
        isRunning = false;
      }
      timer = window.setTimeout(read, isWanted ? 100 : (document.hidden ? 10 : 1) * seconds * 1000);
      isWanted = false;
    };
    again.current = () => void read();
    void read();
    const off = onEvent((event) => kinds.split(" ").includes(event.kind) && void read());
    return () => {
      stop.abort();
      clearTimeout(timer);
      off();
    };
  }, [path, seconds, kinds]);
  return { data, error, etag, status, again: () => again.current() };
}
