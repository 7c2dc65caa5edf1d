// SPDX-License-Identifier: Apache-2.0
//
// What a frame of a sample says of itself: outer header, if it has one, and the client's packet.

interface Header {
  source: string;
  destination: string;
  /** tcp, udp, icmp, or the protocol's number. */
  protocol: string;
  sourcePort?: number;
  destinationPort?: number;
  /** Of TCP: S, S., ., P., F., R, ... as tcpdump prints them. */
  flags?: string;
}

export interface Frame {
  /** What the packet travels in from mux to server: gue, ipip or srv6. */
  encap?: string;
  outer?: Header;
  /** Absent if the frame is none of IPv4 and IPv6, or is cut off. */
  inner?: Header;
}

const GUE_PORT = 6080;
const VLANS = [0x8100, 0x88a8];
const [IPV4, TCP, UDP, IPV6, ROUTING, ICMPV6] = [4, 6, 17, 41, 43, 58] as const;

export function parseFrame(data: Uint8Array): Frame {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  try {
    let at = 12;
    while (VLANS.includes(view.getUint16(at))) at += 4;
    const type = view.getUint16(at);
    if (type !== 0x0800 && type !== 0x86dd) return {};
    const first = ip(view, at + 2);
    if (first.next === IPV4 || first.next === IPV6) {
      const encap = first.isRouted ? "srv6" : "ipip";
      return { encap, outer: first.header, inner: ip(view, first.payload).header };
    }
    if (first.header.protocol === "udp" && first.header.destinationPort === GUE_PORT) {
      const gue = first.payload + 8;
      const isData = (view.getUint8(gue) & 0xe0) === 0;
      const inner = gue + 4 + 4 * (view.getUint8(gue) & 0x1f);
      if (isData) return { encap: "gue", outer: first.header, inner: ip(view, inner).header };
    }
    return { inner: first.header };
  } catch (error) {
    if (error instanceof RangeError) return {}; // the capture ends there
    throw error;
  }
}

function ip(view: DataView, at: number): { header: Header; next: number; payload: number; isRouted: boolean } {
  const version = view.getUint8(at) >> 4;
  if (version !== 4 && version !== 6) throw new RangeError("no IP");
  let next = view.getUint8(at + (version === 4 ? 9 : 6));
  let payload = at + (version === 4 ? 4 * (view.getUint8(at) & 15) : 40);
  let isRouted = false;
  while (version === 6 && [0, ROUTING, 60].includes(next)) {
    isRouted ||= next === ROUTING;
    next = view.getUint8(payload);
    payload += 8 * (view.getUint8(payload + 1) + 1);
  }
  const [source, destination] =
    version === 4 ? [v4(view, at + 12), v4(view, at + 16)] : [v6(view, at + 8), v6(view, at + 24)];
  const header: Header = { source, destination, protocol: name(next) };
  if (next === TCP || next === UDP) {
    header.sourcePort = view.getUint16(payload);
    header.destinationPort = view.getUint16(payload + 2);
  }
  if (next === TCP) header.flags = flags(view.getUint8(payload + 13));
  return { header, next, payload, isRouted };
}

function name(protocol: number): string {
  const names: Record<number, string> = { 1: "icmp", [TCP]: "tcp", [UDP]: "udp", [ICMPV6]: "icmp6", 44: "fragment" };
  return names[protocol] ?? String(protocol);
}

const flags = (bits: number) =>
  [..."FSRP.U"]
    .filter((_, bit) => bits & (1 << bit))
    .sort((a, b) => "SFRPU.".indexOf(a) - "SFRPU.".indexOf(b))
    .join("");

const v4 = (view: DataView, at: number) => [0, 1, 2, 3].map((n) => view.getUint8(at + n)).join(".");

/** RFC 5952: the longest run of two and more zeros is "::". */
function v6(view: DataView, at: number): string {
  const groups = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => view.getUint16(at + 2 * n));
  let best = { from: 0, length: 0 };
  for (let from = 0; from < 8; from++) {
    let length = 0;
    while (groups[from + length] === 0) length++;
    if (length > best.length && length > 1) best = { from, length };
  }
  const hex = (part: number[]) => part.map((group) => group.toString(16)).join(":");
  return best.length
    ? `${hex(groups.slice(0, best.from))}::${hex(groups.slice(best.from + best.length))}`
    : hex(groups);
}

/** 10.2.1.2:40001 → 10.99.0.1:80 */
export function showHeader(header: Header): string {
  const end = (address: string, port?: number) =>
    port === undefined ? address : address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
  return `${end(header.source, header.sourcePort)} → ${end(header.destination, header.destinationPort)}`;
}
