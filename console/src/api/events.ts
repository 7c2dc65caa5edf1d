// SPDX-License-Identifier: Apache-2.0
//
// The stream of events, read by fetch since EventSource sends no token. One stream for all pages; it reconnects by itself.
import { signal } from "@preact/signals";
import { createParser, type EventSourceParser } from "eventsource-parser";
import { asked } from "../session";
import { send } from "./client";

export interface ApiEvent {
  id: string;
  kind: string;
  /** When this page received it, Unix milliseconds. */
  at: number;
  data: Record<string, unknown>;
}

const KEPT = 1000;
const RETRY_MILLIS = 1000;
const SILENT_MILLIS = 40_000; // a comment comes every 15 s

/** The latest events, the newest last. */
export const events = signal<ApiEvent[]>([]);
export const isStreaming = signal(false);

const listeners = new Set<(event: ApiEvent) => void>();

/** Calls `listener` for each event until the function that it returns is called. */
export function onEvent(listener: (event: ApiEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Hands `listener` each event of the stream that it is fed, in parts as they come. */
export function reader(listener: (event: ApiEvent) => void): EventSourceParser {
  return createParser({
    onEvent: ({ id = "", event = "message", data }) =>
      listener({ id, kind: event, at: Date.now(), data: JSON.parse(data) }),
  });
}

function publish(event: ApiEvent): void {
  events.value = [...events.value.slice(1 - KEPT), event];
  for (const listener of listeners) listener(event);
}

async function follow(last: string, onId: (id: string) => void): Promise<void> {
  const stop = new AbortController();
  let watchdog = 0;
  const alive = () => {
    clearTimeout(watchdog);
    watchdog = window.setTimeout(() => stop.abort(), SILENT_MILLIS);
  };
  try {
    alive();
    const headers: Record<string, string> = last ? { "Last-Event-ID": last } : {};
    const response = await send("/v1/events", { isStream: true, signal: stop.signal, headers });
    if (!response.ok || !response.body) return;
    isStreaming.value = true;
    const parts = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const stream = reader((event) => {
      if (event.id) onId(event.id);
      publish(event);
    });
    for (;;) {
      const { done, value } = await parts.read();
      if (done) return;
      alive();
      stream.feed(value);
    }
  } finally {
    clearTimeout(watchdog);
    stop.abort();
    isStreaming.value = false;
  }
}

/** Follows events for as long as the page is open. */
export async function followEvents(): Promise<never> {
  let last = "";
  for (;;) {
    if (!asked.value) {
      try {
        await follow(last, (id) => (last = id));
      } catch {
        // the controller is gone: the next attempt finds another one
      }
    }
    await new Promise((done) => setTimeout(done, RETRY_MILLIS));
  }
}
