// SPDX-License-Identifier: Apache-2.0
//
// A sample of packets while it is taken: the stream is read as it arrives, and kept for the download.
import { signal } from "@preact/signals";
import { refused, send, servicePath, text } from "../api/client";
import { type Frame, parseFrame } from "./frame";
import { type Packet, PcapngReader } from "./pcapng";

export interface SampledPacket {
  number: number;
  packet: Packet;
  frame: Frame;
}

interface SampleOrder {
  service: string;
  mux: string;
  seconds: number;
  rate: number;
  verdict: string;
  source: string;
}

const SHOWN_MAX = 20_000;

export const packets = signal<SampledPacket[]>([]);
export const isSampling = signal(false);
export const sampleError = signal("");
/** What the mux sent so far, as a file. */
let pieces: Uint8Array<ArrayBuffer>[] = [];
let stop: AbortController | undefined;

export function stopSample(): void {
  stop?.abort();
}

function samplePath(order: SampleOrder): string {
  const query = new URLSearchParams({ seconds: String(order.seconds), rate: String(order.rate) });
  if (order.verdict) query.set("verdict", order.verdict);
  if (order.source) query.set("source", order.source);
  return `${servicePath(order.service)}/muxes/${encodeURIComponent(order.mux)}/sample?${query}`;
}

/** Replaces the sample before. Returns when the mux has ended it, or it was stopped. */
export async function takeSample(order: SampleOrder): Promise<void> {
  stop?.abort();
  const mine = new AbortController();
  stop = mine;
  packets.value = [];
  pieces = [];
  sampleError.value = "";
  isSampling.value = true;
  try {
    const response = await send(samplePath(order), { isStream: true, signal: mine.signal });
    if (!response.ok || !response.body) {
      sampleError.value = text(await refused(response));
      return;
    }
    const reader = response.body.getReader();
    const file = new PcapngReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      pieces.push(piece.value);
      add(file.push(piece.value));
    }
  } catch (failure) {
    if (!mine.signal.aborted) sampleError.value = text(failure);
  } finally {
    if (stop === mine) isSampling.value = false;
  }
}

function add(found: Packet[]): void {
  const before = packets.value;
  const more = found.map((packet, index) => ({
    number: before.length + index + 1,
    packet,
    frame: parseFrame(packet.data),
  }));
  if (more.length) packets.value = [...before, ...more].slice(0, SHOWN_MAX);
}

/** Saves all that has arrived: the file that the mux wrote, whole packets or not. */
export function download(name: string): void {
  const url = URL.createObjectURL(new Blob(pieces, { type: "application/x-pcapng" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
