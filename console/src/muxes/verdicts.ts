// SPDX-License-Identifier: Apache-2.0
//
// Made by scripts/verdicts from mux/flow/verdict.h; do not edit.

export type Passed =
  | "service"
  | "not_ours"
  | "from_kernel"
  | "echo"
  | "fragment_forwarded";

export type Dropped =
  | "ip_truncated"
  | "ip_header_length"
  | "ip_total_length"
  | "ip_checksum"
  | "ip_ttl"
  | "ip_source"
  | "ip_extension"
  | "tcp_truncated"
  | "tcp_offset"
  | "tcp_port_zero"
  | "udp_truncated"
  | "udp_length"
  | "icmp_truncated"
  | "segmented"
  | "fragment_alone"
  | "fragment_full"
  | "peer_unknown"
  | "peer_malformed"
  | "protocol"
  | "icmp_type"
  | "icmp_quote"
  | "no_service_port"
  | "no_ring"
  | "no_backend"
  | "no_backend_id"
  | "no_neighbour"
  | "backend_loop"
  | "too_big"
  | "too_big_silent"
  | "no_headroom"
  | "over_budget"
  | "echo_limit"
  | "port_full"
  | "exception_full"
  | "peer_untrusted";
