// SPDX-License-Identifier: Apache-2.0
//
// The stream of events, read by fetch since EventSource sends no token. One stream for all pages; it reconnects by itself.
import { signal } from "@preact/signals";
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

/** Takes whole events out of text/event-stream; what is left is the beginning of the next. */
export function split(text: string): { events: Omit<ApiEvent, "at">[]; rest: string } {
  const blocks = text.replaceAll("\r\n", "\n").split("\n\n");
  const rest = blocks.pop() ?? "";
  const found = blocks.flatMap((block) => {
    const fields: Record<string, string> = {};
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      if (colon <= 0) continue; // a comment
      const name = line.slice(0, colon);
      const value = line.slice(colon + 1).replace(/^ /, "");
      fields[name] = name === "data" && fields.data !== undefined ? `${fields.data}\n${value}` : value;
    }
    if (fields.data === undefined) return [];
    return [{ id: fields.id ?? "", kind: fields.event ?? "message", data: JSON.parse(fields.data) }];
  });
  return { events: found, rest };
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
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      const taken = split(rest + value);
      rest = taken.rest;
      for (const event of taken.events) {
        if (event.id) onId(event.id);
        publish({ ...event, at: Date.now() });
      }
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
