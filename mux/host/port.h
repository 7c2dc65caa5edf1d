/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ports that packets are received and sent by.
 *
 *	af_xdp:IFACE	shares IFACE with the kernel: our XDP program redirects the VIPs' packets to the mux,
 *			everything else goes to the kernel as if the mux were not there
 *	af_packet:IFACE	the kernel gets its own copy of every packet; the mux takes only the VIPs'
 *			(DPDK's driver has the kernel reassemble fragments; receive offloads must be off)
 *	net_pcap0,...	a DPDK virtual device by its arguments, or
 *	0000:01:00.0	a PCI device: taken from the kernel, which gets what is not ours through a TAP interface,
 *			flport<n>, with the port's MAC address: addresses and routes are configured there
 *
 * A port has as many queue pairs as there are workers; worker i owns queue i everywhere.
 */
#ifndef FAIRLEAD_MUX_PORT_H
#define FAIRLEAD_MUX_PORT_H

#include <net/if.h>

#include "config/options.h"

struct rte_mempool;

enum port_kind {
	PORT_AF_XDP = 1,
	PORT_AF_PACKET,
	PORT_RAW, /* virtual or PCI, with an exception port */
};

struct port {
	enum port_kind kind;
	uint16_t id;                 /* DPDK's */
	uint16_t exception;          /* DPDK's id of the TAP; PORT_RAW only, else PORT_NONE */
	uint16_t mtu;                /* without the Ethernet header; used by the control thread only */
	uint64_t mac;                /* mac_word() of mac.h; atomic, the control thread follows it */
	char interface[IF_NAMESIZE]; /* the kernel's name: the interface itself or the TAP; empty if there is none */
	unsigned ifindex;
	char arguments[OPTIONS_TEXT_MAX + 1]; /* the value of --port */
	int claim;                            /* see xdp.h; -1 for PORT_RAW */
	int object;                           /* PORT_AF_XDP: the program's file until DPDK has loaded it; else -1 */
	int vips4;
	int vips6;
};

enum { PORT_NONE = 0xffff };

struct ports {
	unsigned count;
	struct port port[OPTIONS_PORTS_MAX];
	struct rte_mempool *pool;
	struct fl_address
	    self; /* the mux's own outer addresses, at which other muxes reach it, by the first ports_vips() */
	struct fl_address self6;
};

/* Starts DPDK with these options: memory, devices, threads that are not pinned. Call once per process. */
int ports_environment(const struct options *options, struct reason *why);

/* Whether a --port is a PCI address, which DPDK takes from the kernel. */
bool port_is_pci(const char *arguments);

/* Finds and opens all ports without starting them. Undone by ports_close, after a failure as well. */
int ports_look(struct ports *ports, const struct options *options, struct reason *why);

/* Opens, configures and starts all ports; undone by ports_close. On failure everything is undone already. */
int ports_open(struct ports *ports, const struct options *options, struct reason *why);
void ports_close(struct ports *ports);

/* Puts exactly these VIPs into the maps of the XDP programs. context: struct ports; see struct vip_listener. */
void ports_vips(void *context, const struct fl_address *vips, uint32_t count);

/* The port of a kernel interface, NULL if none. */
struct port *ports_by_ifindex(struct ports *ports, unsigned ifindex);

/* As interface_address() of the port's interface. */
int port_address(const struct port *port, int family, struct fl_address *address);

#endif
