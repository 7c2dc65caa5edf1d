// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFlow, showFlow } from "./flow";

const good: [string, string][] = [
  ["tcp 10.2.1.2:40001 10.99.0.1:80", "tcp 10.2.1.2:40001 10.99.0.1:80"],
  ["  10.2.1.2:40001   ->  10.99.0.1:443 ", "tcp 10.2.1.2:40001 10.99.0.1:443"],
  ["udp 10.2.1.2:5000 10.99.0.1:53", "udp 10.2.1.2:5000 10.99.0.1:53"],
  [
    "12:00:00.123456 IP 10.2.1.2.40001 > 10.99.0.1.80: Flags [S], seq 1, win 64240, length 0",
    "tcp 10.2.1.2:40001 10.99.0.1:80",
  ],
  ["12:00:00.1 eth0  In  IP 10.2.1.2.40001 > 10.99.0.1.http: Flags [P.], seq 1:8", "tcp 10.2.1.2:40001 10.99.0.1:80"],
  ["IP 10.2.1.2.40001 > 10.99.0.1.443: UDP, length 1200", "udp 10.2.1.2:40001 10.99.0.1:443"],
  ["IP 10.2.1.2.40001 > 10.99.0.1.443: quic, initial", "udp 10.2.1.2:40001 10.99.0.1:443"],
  [
    "02:00:00:00:00:01 > 02:00:00:00:00:02, ethertype IPv4 (0x0800), length 74: 10.2.1.2.40001 > 10.99.0.1.80: Flags [S]",
    "tcp 10.2.1.2:40001 10.99.0.1:80",
  ],
  [
    "IP (tos 0x0, ttl 64, id 1, offset 0, flags [DF], proto TCP (6), length 60)\n 10.2.1.2.40001 > 10.99.0.1.80: Flags [S]",
    "tcp 10.2.1.2:40001 10.99.0.1:80",
  ],
  [
    "12:00:00.1 IP6 2001:db8:2:1::2.40001 > 2001:db8:99::1.443: Flags [S], seq 1",
    "tcp [2001:db8:2:1::2]:40001 [2001:db8:99::1]:443",
  ],
  ["udp [2001:DB8::2]:40001 [2001:db8:99::1]:443", "udp [2001:db8::2]:40001 [2001:db8:99::1]:443"],
  ["ESTAB 0 0 10.2.1.2:40001 10.99.0.1:80", "tcp 10.2.1.2:40001 10.99.0.1:80"],
  [
    "tcp 6 431999 ESTABLISHED src=10.2.1.2 dst=10.99.0.1 sport=40001 dport=80 src=10.99.0.1 dst=10.2.1.2 sport=80 dport=40001",
    "tcp 10.2.1.2:40001 10.99.0.1:80",
  ],
];
for (const [text, shown] of good) {
  test(`a flow: ${text.slice(0, 60)}`, () => {
    const flow = parseFlow(text);
    assert.equal(typeof flow === "string" ? flow : showFlow(flow), shown);
  });
}

const bad: [string, RegExp][] = [
  ["", /allowed: tcp/],
  ["hello", /'hello' does not have two addresses with ports; allowed/],
  ["10.2.1.2 > 10.99.0.1: ICMP echo request", /two addresses with ports/],
  ["tcp 10.2.1.2:70000 10.99.0.1:80", /port '70000' is refused; allowed: 0..65535/],
  ["tcp 10.2.1.2:1 10.99.0.1:0", /port '0' is refused; allowed: 1..65535/],
  ["tcp 10.2.1.2:1 10.99.0.1:nothing", /port 'nothing' is refused/],
  ["tcp 10.2.1.2:1 [2001:db8::1]:80", /different address families/],
  ["x".repeat(1000), /\.\.\.' does not have two/],
];
for (const [text, why] of bad) {
  test(`no flow: ${text.slice(0, 40)}`, () => {
    const said = parseFlow(text);
    assert.match(typeof said === "string" ? said : showFlow(said), why);
  });
}
