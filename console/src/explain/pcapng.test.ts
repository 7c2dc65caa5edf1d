// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFrame, showHeader } from "./frame";
import { PcapngReader, words } from "./pcapng";

/** A block of a file, in either byte order. */
function block(type: number, body: number[], isLittle: boolean): number[] {
  const length = 12 + body.length;
  return [...u32(type, isLittle), ...u32(length, isLittle), ...body, ...u32(length, isLittle)];
}

function u32(value: number, isLittle: boolean): number[] {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, value, isLittle);
  return [...new Uint8Array(view.buffer)];
}

function option(code: number, value: number[], isLittle: boolean): number[] {
  const head = u32(isLittle ? code | (value.length << 16) : (code << 16) | value.length, isLittle);
  return [...head, ...value, ...new Array((4 - (value.length % 4)) % 4).fill(0)];
}

const bytes = (text: string) => [...new TextEncoder().encode(text)];
const hex = (text: string) => (text.match(/[0-9a-f]{2}/g) ?? []).map((pair) => Number.parseInt(pair, 16));

/** A file with one packet, whose clock has 10^digits ticks a second. */
function file(data: number[], comment: string, isLittle: boolean, digits: number): Uint8Array {
  const u = (value: number) => u32(value, isLittle);
  const padded = [...data, ...new Array((4 - (data.length % 4)) % 4).fill(0)];
  const ticks = 1_700_000_000 * 10 ** digits + 5;
  return new Uint8Array([
    ...block(0x0a0d0d0a, [...u(0x1a2b3c4d), ...u(1), ...u(0xffffffff), ...u(0xffffffff)], isLittle),
    ...block(1, [...u(1), ...u(256), ...option(9, [digits], isLittle), ...u(0)], isLittle),
    ...block(5, [...u(0), ...u(0), ...u(0)], isLittle),
    ...block(
      6,
      [
        ...[...u(0), ...u(Math.floor(ticks / 2 ** 32)), ...u(ticks % 2 ** 32)],
        ...[...u(data.length), ...u(1500), ...padded, ...option(1, bytes(comment), isLittle), ...u(0)],
      ],
      isLittle,
    ),
  ]);
}

const COMMENT = "verdict=service worker=0 service=web bucket=17 backend=2 generation=9 former=1";

for (const isLittle of [true, false]) {
  for (const step of [1, 7, 10_000]) {
    test(`packets in pieces of ${step}, ${isLittle ? "little" : "big"} endian`, () => {
      const whole = file([1, 2, 3, 4, 5], COMMENT, isLittle, 6);
      const reader = new PcapngReader();
      const found = [];
      for (let at = 0; at < whole.length; at += step) found.push(...reader.push(whole.slice(at, at + step)));
      assert.equal(found.length, 1);
      assert.deepEqual([...found[0]!.data], [1, 2, 3, 4, 5]);
      assert.equal(found[0]!.length, 1500);
      assert.equal(found[0]!.at, 1_700_000_000.000005);
      assert.equal(found[0]!.comment.bucket, "17");
      assert.equal(found[0]!.comment.former, "1");
    });
  }
}

const broken: [string, (whole: Uint8Array) => Uint8Array][] = [
  ["no pcapng", () => new Uint8Array(bytes('{"status":404,"detail":"no"}'))],
  ["a wrong magic", (whole) => whole.map((byte, index) => (index === 8 ? byte + 1 : byte))],
  ["a block of no length", (whole) => whole.map((byte, index) => (index === 4 ? 0 : byte))],
  ["a block beyond all bounds", (whole) => whole.map((byte, index) => (index === 7 ? 0x7f : byte))],
];
for (const [what, damage] of broken) {
  test(`${what} is refused`, () => {
    assert.throws(() => new PcapngReader().push(damage(file([1], COMMENT, true, 6))), /refused|not a pcapng/);
  });
}

test("words of a comment", () => {
  assert.deepEqual(words(""), {});
  assert.deepEqual(words("verdict=no_ring  service=a=b"), { verdict: "no_ring", service: "a=b" });
});

const ETHERNET = "020000000002020000000001";
const SYN = "0a0201020a630001"; // 10.2.1.2 to 10.99.0.1
const TCP = "9c410050000000010000000050020000aaaa0000"; // 40001 to 80
const INNER = `45000028000100004006aaaa${SYN}${TCP}`;
const frames: [string, string, string][] = [
  ["plain", `0800${INNER}`, "tcp 10.2.1.2:40001 → 10.99.0.1:80 S"],
  ["in a VLAN", `810000050800${INNER}`, "tcp 10.2.1.2:40001 → 10.99.0.1:80 S"],
  [
    "in GUE",
    `08004500004c000100004011aaaa0a01000b0a010015c00017c000380000` + `02040000aabbccdd00000000${INNER}`,
    "tcp 10.2.1.2:40001 → 10.99.0.1:80 S in gue to 10.1.0.21",
  ],
  [
    "in IPIP",
    `08004500003c000100004004aaaa0a01000b0a010015${INNER}`,
    "tcp 10.2.1.2:40001 → 10.99.0.1:80 S in ipip to 10.1.0.21",
  ],
  ["ARP", "08060001080006040001", "nothing"],
  ["cut off in the header", `0800${INNER.slice(0, 20)}`, "nothing"],
];
for (const [what, text, shown] of frames) {
  test(`a frame, ${what}`, () => {
    const { inner, outer, encap } = parseFrame(new Uint8Array(hex(ETHERNET + text)));
    const said = inner ? `${inner.protocol} ${showHeader(inner)} ${inner.flags ?? ""}`.trim() : "nothing";
    assert.equal(said + (outer ? ` in ${encap} to ${outer.destination}` : ""), shown);
  });
}

test("IPv6 addresses are short", () => {
  const header =
    "6000000000143a40" + "20010db8000000010000000000000002" + "20010db8009900000000000000000001" + "8000aaaa00000000";
  const { inner } = parseFrame(new Uint8Array(hex(`${ETHERNET}86dd${header}`)));
  assert.equal(showHeader(inner!), "2001:db8:0:1::2 → 2001:db8:99::1");
  assert.equal(inner!.protocol, "icmp6");
});
