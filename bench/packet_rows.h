/* SPDX-License-Identifier: Apache-2.0 */
/* What mux_packet measures: its rows. */
#ifndef FAIRLEAD_BENCH_PACKET_ROWS_H
#define FAIRLEAD_BENCH_PACKET_ROWS_H

#include "encap/encap.h"
#include "steering/hunt/hunt.h"
#include "steering/maat/maat.h"
#include "steering/othello/othello.h"
#include "stand.h"

static const struct row rows[] = {
    {.name = "64 K buckets"},
    {.name = "1 K buckets", .buckets = 1024},
    {.name = "1 M buckets", .buckets = 1 << 20},
    {.name = "8 M buckets", .buckets = 1 << 23},
    {.name = "crc32", .hash = FL_HASH_CRC32},
    {.name = "crc32, 1 M buckets", .hash = FL_HASH_CRC32, .buckets = 1 << 20},
    {.name = "scalar", .scalar = true},
    {.name = "scalar, SipHash by AVX2", .scalar = true, .way = "avx2"},
    {.name = "scalar, SipHash one by one", .scalar = true, .way = "scalar"},
    {.name = "IPv6", .ipv6 = true},
    {.name = "IPv6, scalar", .ipv6 = true, .scalar = true},
    {.name = "tags", .tagged = true},
    {.name = "tags, scalar", .tagged = true, .scalar = true},
    {.name = "SYNs", .syns = true},
    {.name = "ipip", .encap = &encap_ipip},
    {.name = "ipip, 1 flow", .encap = &encap_ipip, .flows = 1},
    {.name = "ipip, 1 K flows", .encap = &encap_ipip, .flows = 1000},
    {.name = "ipip, SYNs", .encap = &encap_ipip, .syns = true},
    {.name = "srv6", .encap = &encap_srv6},
    {.name = "8 services", .services = 8},
    {.name = "128 services", .services = 128},
    {.name = "1,000 services of 4 K buckets", .services = 1000, .buckets = 4096},
    {.name = "all moved", .told = true},
    {.name = "0 to 6 owners, 1 K lists", .most = 6, .lists = 1000},
    {.name = "0 to 6 owners", .most = 6},
    {.name = "0 to 6 owners, scalar", .most = 6, .scalar = true},
    {.name = "tags, 0 to 6 owners", .tagged = true, .most = 6},
    {.name = "hunt, 0 to 2 owners", .steering = &steering_hunt, .most = 2},
    {.name = "UDP", .udp = true},
    {.name = "UDP, 1,000 services of 4 K buckets", .udp = true, .services = 1000, .buckets = 4096},
    {.name = "10 generations a second", .changes = true},
    {.name = "hunt", .steering = &steering_hunt},
    {.name = "hunt, all moved", .steering = &steering_hunt, .told = true},
    {.name = "hunt, 1 M buckets", .steering = &steering_hunt, .buckets = 1 << 20},
    {.name = "maat", .steering = &steering_maat, .load = MAAT_PACKETS},
    {.name = "maat, bytes", .steering = &steering_maat, .load = MAAT_BYTES},
    {.name = "maat, connections", .steering = &steering_maat, .load = MAAT_CONNECTIONS},
    {.name = "maat, a full filter", .steering = &steering_maat, .full = true},
    {.name = "hunt, 1 K buckets", .steering = &steering_hunt, .buckets = 1024},
    {.name = "hunt, scalar", .steering = &steering_hunt, .scalar = true},
    {.name = "maat, scalar", .steering = &steering_maat, .scalar = true},
    {.name = "othello, one, scalar", .steering = &steering_othello, .arrays = 1, .scalar = true},
    {.name = "othello, both, scalar", .steering = &steering_othello, .arrays = 2, .scalar = true},
    {.name = "1,000 services, scalar", .services = 1000, .buckets = 4096, .scalar = true},
    {.name = "hunt, UDP", .steering = &steering_hunt, .udp = true},
    {.name = "hunt, 1 K flows", .steering = &steering_hunt, .flows = 1000},
    {.name = "hunt, 100 K flows", .steering = &steering_hunt, .flows = 100000},
    {.name = "hunt, 10 M flows", .steering = &steering_hunt, .flows = 10000000},
    {.name = "othello, no arrays", .steering = &steering_othello},
    {.name = "othello, one", .steering = &steering_othello, .arrays = 1},
    {.name = "othello, both, few news", .steering = &steering_othello, .arrays = 2, .news = 1000},
    {.name = "othello, both, few news, all moved",
     .steering = &steering_othello,
     .arrays = 2,
     .news = 1000,
     .told = true},
    {.name = "othello, both", .steering = &steering_othello, .arrays = 2},
    {.name = "othello, both, all moved", .steering = &steering_othello, .arrays = 2, .told = true},
    {.name = "othello, one, 100 K flows", .steering = &steering_othello, .arrays = 1, .flows = 100000},
    {.name = "othello, one, 10 M flows", .steering = &steering_othello, .arrays = 1, .flows = 10000000},
    {.name = "1 flow", .flows = 1},
    {.name = "1 K flows", .flows = 1000},
    {.name = "100 K flows", .flows = 100000},
    {.name = "10 M flows", .flows = 10000000},
    {.name = "stateful, 1 K flows", .flows = 1000, .stateful = true},
    {.name = "stateful, 100 K flows", .flows = 100000, .stateful = true},
    {.name = "stateful, 1 M flows", .flows = 1000000, .stateful = true},
    {.name = "stateful, 10 M flows", .flows = 10000000, .stateful = true},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

#endif
