/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a packet. scripts/verdicts makes the numbers below 48 from mux/flow/verdict.h. */
#ifndef FAIRLEAD_P4_VERDICTS
#define FAIRLEAD_P4_VERDICTS

typedef bit<8> verdict_t;

const verdict_t VERDICT_SERVICE = 0;
const verdict_t VERDICT_NOT_OURS = 1;
const verdict_t VERDICT_IP_HEADER_LENGTH = 6;
const verdict_t VERDICT_IP_TOTAL_LENGTH = 7;
const verdict_t VERDICT_IP_CHECKSUM = 8;
const verdict_t VERDICT_IP_TTL = 9;
const verdict_t VERDICT_IP_SOURCE = 10;
const verdict_t VERDICT_TCP_TRUNCATED = 12;
const verdict_t VERDICT_TCP_OFFSET = 13;
const verdict_t VERDICT_TCP_PORT_ZERO = 14;
const verdict_t VERDICT_UDP_TRUNCATED = 15;
const verdict_t VERDICT_UDP_LENGTH = 16;
const verdict_t VERDICT_SEGMENTED = 18;
const verdict_t VERDICT_PROTOCOL = 23;
const verdict_t VERDICT_NO_SERVICE_PORT = 26;
const verdict_t VERDICT_NO_RING = 27;
const verdict_t VERDICT_NO_BACKEND = 28;
const verdict_t VERDICT_NO_BACKEND_ID = 29;
const verdict_t VERDICT_NO_NEIGHBOUR = 30;
const verdict_t VERDICT_BACKEND_LOOP = 31;
const verdict_t VERDICT_TOO_BIG = 32;

/* For packets to a VIP about which this program decides nothing. */
const verdict_t VERDICT_FRAGMENT = 48;   /* of IPv4 */
const verdict_t VERDICT_ICMP = 49;
const verdict_t VERDICT_OPTIONS = 50;    /* of IPv4 */
const verdict_t VERDICT_EXTENSIONS = 51; /* of IPv6 */
const verdict_t VERDICT_REFERRED = 52;   /* the service or its backend says so */

#endif
