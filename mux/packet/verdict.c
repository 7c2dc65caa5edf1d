/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/verdict.h"

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[VERDICTS_ALL] = {
	    [VERDICT_SERVICE] = "service",
	    [VERDICT_NOT_OURS] = "not_ours",
	    [VERDICT_FROM_KERNEL] = "from_kernel",
	    [VERDICT_ECHO] = "echo",
	    [VERDICT_IP_TRUNCATED] = "ip_truncated",
	    [VERDICT_IP_HEADER_LENGTH] = "ip_header_length",
	    [VERDICT_IP_TOTAL_LENGTH] = "ip_total_length",
	    [VERDICT_IP_CHECKSUM] = "ip_checksum",
	    [VERDICT_IP_TTL] = "ip_ttl",
	    [VERDICT_IP_SOURCE] = "ip_source",
	    [VERDICT_IP_EXTENSION] = "ip_extension",
	    [VERDICT_TCP_TRUNCATED] = "tcp_truncated",
	    [VERDICT_TCP_OFFSET] = "tcp_offset",
	    [VERDICT_TCP_PORT_ZERO] = "tcp_port_zero",
	    [VERDICT_UDP_TRUNCATED] = "udp_truncated",
	    [VERDICT_UDP_LENGTH] = "udp_length",
	    [VERDICT_ICMP_TRUNCATED] = "icmp_truncated",
	    [VERDICT_SEGMENTED] = "segmented",
	    [VERDICT_FRAGMENT_FORWARDED] = "fragment_forwarded",
	    [VERDICT_FRAGMENT_ALONE] = "fragment_alone",
	    [VERDICT_FRAGMENT_FULL] = "fragment_full",
	    [VERDICT_PEER_UNKNOWN] = "peer_unknown",
	    [VERDICT_PEER_MALFORMED] = "peer_malformed",
	    [VERDICT_FRAGMENT] = "fragment",
	    [VERDICT_PEER] = "peer",
	    [VERDICT_PROTOCOL] = "protocol",
	    [VERDICT_ICMP_TYPE] = "icmp_type",
	    [VERDICT_ICMP_QUOTE] = "icmp_quote",
	    [VERDICT_NO_SERVICE_PORT] = "no_service_port",
	    [VERDICT_NO_RING] = "no_ring",
	    [VERDICT_NO_BACKEND] = "no_backend",
	    [VERDICT_NO_BACKEND_ID] = "no_backend_id",
	    [VERDICT_NO_NEIGHBOUR] = "no_neighbour",
	    [VERDICT_BACKEND_LOOP] = "backend_loop",
	    [VERDICT_TOO_BIG] = "too_big",
	    [VERDICT_TOO_BIG_SILENT] = "too_big_silent",
	    [VERDICT_ECHO_LIMIT] = "echo_limit",
	    [VERDICT_NO_HEADROOM] = "no_headroom",
	    [VERDICT_PORT_FULL] = "port_full",
	    [VERDICT_EXCEPTION_FULL] = "exception_full",
	    [VERDICT_PEER_UNTRUSTED] = "peer_untrusted",
	};

	return verdict < VERDICTS_ALL ? names[verdict] : "unknown";
}
