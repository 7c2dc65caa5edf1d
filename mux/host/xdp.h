/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XDP program of an AF_XDP port (host/redirect.bpf.c). DPDK loads and attaches it from a file; this keeps that file
 * in memory, clears what a killed mux left on the interface, and reaches the program's VIP maps.
 */
#ifndef FAIRLEAD_MUX_XDP_H
#define FAIRLEAD_MUX_XDP_H

#include <fairlead/types.h>

#include "config/reason.h"

/* The descriptor of a memory file with the object; its path is /proc/self/fd/N. Close it after DPDK has loaded it. */
int xdp_object(struct reason *why);

/*
 * Claims the interface for this process until the returned descriptor is closed, and detaches our own program if a dead
 * mux left it there. -EBUSY: another mux has the interface.
 */
int xdp_claim(const char *interface, unsigned ifindex, struct reason *why);

/* Whether our program can be attached to a claimed interface. -EBUSY: another XDP program is attached. */
int xdp_vacant(const char *interface, unsigned ifindex, struct reason *why);

/* The descriptors of the attached program's VIP maps. */
int xdp_maps(const char *interface, unsigned ifindex, int *vips4, int *vips6, struct reason *why);

/*
 * Sets a map's keys to those of these addresses that are of its family, and to the mux's own address (if it has one),
 * for which only packets from other muxes are taken. Returns 0 or the first error; the rest is still done.
 */
int xdp_sync(int map, bool ipv4, const struct fl_address *vips, uint32_t count, const struct fl_address *self);

/* Detaches our program; another one stays. */
void xdp_detach(unsigned ifindex);

#endif
