// SPDX-License-Identifier: Apache-2.0
//
// Packets with their comments out of a pcapng stream, as a mux writes it: sections, interfaces, enhanced packets,
// statistics. Blocks of other types are skipped. What arrives is a stream: a block may come in pieces.

export interface Packet {
  /** Unix seconds. */
  at: number;
  /** Of the whole frame; `data` may have less. */
  length: number;
  data: Uint8Array;
  /** Of the mux: verdict=service service=web bucket=7 backend=1 generation=4 ... */
  comment: Record<string, string>;
}

const SECTION = 0x0a0d0d0a;
const INTERFACE = 1;
const PACKET = 6;
const BYTE_ORDER = 0x1a2b3c4d;
const OPTION_COMMENT = 1;
const OPTION_RESOLUTION = 9;
const BLOCK_MAX = 1 << 20;

/** Takes pieces of a stream and gives the packets that are complete. Throws on what is no pcapng. */
export class PcapngReader {
  private rest = new Uint8Array();
  private isLittle = true;
  private ticks: number[] = [];

  push(piece: Uint8Array): Packet[] {
    const bytes = new Uint8Array(this.rest.length + piece.length);
    bytes.set(this.rest);
    bytes.set(piece, this.rest.length);
    const view = new DataView(bytes.buffer);
    const packets: Packet[] = [];
    let at = 0;
    while (bytes.length - at >= 12) {
      const isSection = view.getUint32(at) === SECTION;
      if (isSection) {
        this.isLittle = view.getUint32(at + 8, true) === BYTE_ORDER;
        this.ticks = [];
        if (view.getUint32(at + 8, this.isLittle) !== BYTE_ORDER) throw new Error("this is not a pcapng file");
      }
      const type = isSection ? SECTION : view.getUint32(at, this.isLittle);
      const length = view.getUint32(at + 4, this.isLittle);
      if (length < 12 || length % 4 || length > BLOCK_MAX) throw new Error(`a block of ${length} bytes is refused`);
      if (bytes.length - at < length) break;
      const block = new DataView(bytes.buffer, at, length - 4);
      if (type === INTERFACE) this.ticks.push(this.resolution(block));
      if (type === PACKET) packets.push(this.packet(block));
      at += length;
    }
    this.rest = bytes.slice(at);
    return packets;
  }

  private packet(block: DataView): Packet {
    const number = (offset: number) => block.getUint32(offset, this.isLittle);
    const captured = number(20);
    if (28 + captured > block.byteLength) throw new Error("a packet is longer than its block");
    const ticks = number(12) * 2 ** 32 + number(16);
    const padded = 28 + Math.ceil(captured / 4) * 4;
    const comment = this.options(block, padded).get(OPTION_COMMENT);
    return {
      at: ticks / (this.ticks[number(8)] ?? 1e6),
      length: number(24),
      data: new Uint8Array(block.buffer.slice(block.byteOffset + 28, block.byteOffset + 28 + captured)),
      comment: words(comment ? new TextDecoder().decode(comment) : ""),
    };
  }

  /** Ticks in a second. */
  private resolution(block: DataView): number {
    const value = this.options(block, 16).get(OPTION_RESOLUTION)?.[0];
    if (value === undefined) return 1e6;
    return value & 0x80 ? 2 ** (value & 0x7f) : 10 ** value;
  }

  private options(block: DataView, from: number): Map<number, Uint8Array> {
    const found = new Map<number, Uint8Array>();
    for (let at = from; at + 4 <= block.byteLength;) {
      const code = block.getUint16(at, this.isLittle);
      const length = block.getUint16(at + 2, this.isLittle);
      if (code === 0 || at + 4 + length > block.byteLength) break;
      if (!found.has(code)) found.set(code, new Uint8Array(block.buffer, block.byteOffset + at + 4, length));
      at += 4 + Math.ceil(length / 4) * 4;
    }
    return found;
  }
}

/** Words NAME=VALUE, separated by spaces. */
export function words(comment: string): Record<string, string> {
  const pairs = comment.split(/\s+/).map((word) => [word.split("=")[0]!, word.slice(word.indexOf("=") + 1)]);
  return Object.fromEntries(pairs.filter(([name]) => name));
}
