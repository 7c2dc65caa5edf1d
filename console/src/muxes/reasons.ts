// SPDX-License-Identifier: Apache-2.0
//
// Every verdict of a mux in a sentence: the compiler wants one for each word of verdicts.ts. Each has a page.

import type { Dropped, Passed } from "./verdicts";

export interface Verdict {
  what: string;
  /** The likely cause, or what to do; absent if packets themselves are wrong. */
  remedy?: string;
  /** Document and heading. */
  page: string;
}

const ORDER = "docs/mux.md, Order of checks";
const FRAGMENTS = "docs/mux.md, Fragments";
const ICMP = "docs/mux.md, ICMP";
const SIZES = "docs/mux.md, Sizes";
const BUDGETS = "docs/operating.md, Budgets";
const DROPS = "docs/troubleshooting.md, A mux drops packets";
const CLIENT = "A broken or hostile client, or a device on the path that damages packets.";

/** What is done with packets that are not dropped. */
const PASSED: Record<string, Verdict> = {
  service: { what: "Steered to the backend that owns its bucket.", page: ORDER },
  not_ours: { what: "Not for a VIP: passed to the kernel.", page: ORDER },
  from_kernel: { what: "Sent by the host's own kernel, through the mux's port to it.", page: ORDER },
  echo: { what: "An echo request to a VIP, which the mux answered.", page: ICMP },
  fragment_forwarded: {
    what: "A fragment, sent to the mux that collects the fragments of its datagram.",
    page: FRAGMENTS,
  },
} satisfies Record<Passed, Verdict>;

/** Why packets are dropped, in the order of the checks. */
export const DROPPED: Record<string, Verdict> = {
  ip_truncated: { what: "The frame ends within the IP header.", remedy: CLIENT, page: ORDER },
  ip_header_length: { what: "The IP header says that it is shorter than 20 bytes.", remedy: CLIENT, page: ORDER },
  ip_total_length: { what: "The IP length is below the header's, or beyond the frame.", remedy: CLIENT, page: ORDER },
  ip_checksum: { what: "The IP header's checksum is wrong.", remedy: CLIENT, page: ORDER },
  ip_ttl: { what: "The time to live is 0.", remedy: "A loop between routers, or a sender too far away.", page: ORDER },
  ip_source: {
    what: "No host may send from its source address: unspecified, loopback, multicast, or a VIP.",
    remedy: CLIENT,
    page: ORDER,
  },
  ip_extension: {
    what: "IPv6 extension headers are cut short, too many, or out of order.",
    remedy: CLIENT,
    page: ORDER,
  },
  tcp_truncated: { what: "Shorter than a TCP header.", remedy: CLIENT, page: ORDER },
  tcp_offset: { what: "The TCP data offset is below 5, or beyond the packet.", remedy: CLIENT, page: ORDER },
  tcp_port_zero: { what: "TCP from source port 0.", remedy: CLIENT, page: ORDER },
  udp_truncated: { what: "Shorter than a UDP header.", remedy: CLIENT, page: ORDER },
  udp_length: { what: "The UDP length is below 8, or more than IP carries.", remedy: CLIENT, page: ORDER },
  icmp_truncated: {
    what: "Shorter than an ICMP header, or the packet that it quotes ends before the ports.",
    remedy: CLIENT,
    page: ORDER,
  },
  segmented: {
    what: "The frame spans several buffers.",
    remedy: "Switch off LRO and GRO on the port: ethtool -K eth0 lro off gro off.",
    page: "docs/mux.md, Real NICs",
  },
  fragment_alone: {
    what: "The first fragment of its datagram did not come in time.",
    remedy: "Fragments get lost on the path, or UDP port 6080 between muxes is filtered.",
    page: FRAGMENTS,
  },
  fragment_full: {
    what: "There is no room for another waiting fragment.",
    remedy: "Fragments get lost on the path, UDP port 6080 between muxes is filtered, or it is a flood of fragments.",
    page: FRAGMENTS,
  },
  peer_unknown: {
    what: "Formatted as a fragment from another mux, but the sender is not a mux.",
    remedy: "Find who sends to UDP port 6080 of the mux. A mux whose node is missing from ZooKeeper causes this, too.",
    page: FRAGMENTS,
  },
  peer_malformed: {
    what: "From another mux, but without a fragment inside.",
    remedy: "Do all muxes have the same version?",
    page: FRAGMENTS,
  },
  peer_untrusted: {
    what: "A fragment from another mux whose tag is missing or wrong.",
    remedy: "Do all muxes have the same --tag-key? If so, somebody forges fragments.",
    page: FRAGMENTS,
  },
  protocol: { what: "Neither TCP, UDP nor ICMP.", page: ORDER },
  icmp_type: { what: "ICMP that is neither an echo request nor an error.", page: ICMP },
  icmp_quote: { what: "An ICMP error about a packet that no service here has sent.", page: ICMP },
  no_service_port: {
    what: "To a VIP, but its service has no such protocol and port.",
    remedy: "Does the service lack a port? Port scans cause this, too.",
    page: DROPS,
  },
  no_ring: {
    what: "The service's ring is not loaded.",
    remedy: "The mux has just started, or ZooKeeper lacks the service's table: see the muxes' state below.",
    page: DROPS,
  },
  no_backend: {
    what: "The bucket has no owner.",
    remedy: "All backends of the service have weight 0: give one a weight.",
    page: DROPS,
  },
  no_backend_id: {
    what: "No backend has the id that the port or the connection id names, or it was removed.",
    remedy: "After a removal, these are the remaining packets of the backend's MPTCP or QUIC connections.",
    page: "docs/mptcp.md",
  },
  no_neighbour: {
    what: "The backend's next hop is not resolved.",
    remedy:
      "No route to the server, or no answer to ARP or neighbour discovery: is it up? The service's page names it.",
    page: DROPS,
  },
  backend_loop: {
    what: "The backend's address is a VIP or a mux.",
    remedy: "Give the backend its server's own address.",
    page: DROPS,
  },
  too_big: {
    what: "Too big for the path to the server; the sender was informed.",
    remedy: "The path to servers needs a larger MTU.",
    page: SIZES,
  },
  too_big_silent: {
    what: "Too big for the path to the server; the sender was not informed, because of the rate limit or the packet's kind.",
    remedy: "The path to servers needs a larger MTU.",
    page: SIZES,
  },
  echo_limit: {
    what: "An echo request beyond the limit of 1,000 per second and worker.",
    remedy: "A flood of pings.",
    page: ICMP,
  },
  no_headroom: {
    what: "The buffer has no room for the outer header.",
    remedy: "A bug in the port's driver: report it.",
    page: ORDER,
  },
  over_budget: {
    what: "Beyond the packets or bytes a second that the service may have of this mux.",
    remedy: "A flood, or a budget that is too small: raise packetsPerSecond or bytesPerSecond.",
    page: BUDGETS,
  },
  port_full: {
    what: "The port did not accept it.",
    remedy: "The port is slower than the load, or its link is down.",
    page: DROPS,
  },
  exception_full: {
    what: "The port to the kernel did not accept it.",
    remedy: "The kernel gets more packets than it can take: find who sends to the mux's own addresses.",
    page: ORDER,
  },
} satisfies Record<Dropped, Verdict>;

export const VERDICTS: Record<string, Verdict> = { ...PASSED, ...DROPPED };
