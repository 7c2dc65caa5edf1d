/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of lanes are compiled for registers of several widths. Each function that they share among themselves has a
 * name for each width: lanes_steer() of 64 bytes is lanes_steer_64(). One that is missing here is defined twice on x86-64.
 */
#ifndef FAIRLEAD_MUX_FLOW_LANES_NAMES_H
#define FAIRLEAD_MUX_FLOW_LANES_NAMES_H

#define LANES_JOIN(name, bytes)   name##_##bytes
#define LANES_EXPAND(name, bytes) LANES_JOIN(name, bytes)
#define LANES_NAME(name)          LANES_EXPAND(name, LANES_BYTES)

#define lanes_begin         LANES_NAME(lanes_begin)
#define lanes_buckets       LANES_NAME(lanes_buckets)
#define lanes_fetch_lists   LANES_NAME(lanes_fetch_lists)
#define lanes_find          LANES_NAME(lanes_find)
#define lanes_hash_two      LANES_NAME(lanes_hash_two)
#define lanes_headers       LANES_NAME(lanes_headers)
#define lanes_ip_bytes      LANES_NAME(lanes_ip_bytes)
#define lanes_look          LANES_NAME(lanes_look)
#define lanes_look_ipv6     LANES_NAME(lanes_look_ipv6)
#define lanes_measure       LANES_NAME(lanes_measure)
#define lanes_rows          LANES_NAME(lanes_rows)
#define lanes_steer         LANES_NAME(lanes_steer)
#define lanes_tag           LANES_NAME(lanes_tag)
#define lanes_tell          LANES_NAME(lanes_tell)
#define lanes_unpack        LANES_NAME(lanes_unpack)
#define mixed_complete_head LANES_NAME(mixed_complete_head)
#define mixed_find_services LANES_NAME(mixed_find_services)
#define mixed_rows          LANES_NAME(mixed_rows)

#endif
