/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/report.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include <fairlead/list_srv6.h>

#include "encap/gue.h"
#include "host/interface.h"
#include "host/port.h"

enum { CLIENT_MTU = 1500 };

/* Names the MTU that services with encap srv6 need, unless this one is as large. */
static void srv6_need(char *out, size_t size, uint8_t flags, unsigned mtu)
{
	unsigned need = CLIENT_MTU + FL_IPV6_LEN + fl_list_srv6_len(encap_candidates(&encap_srv6), flags);

	*out = 0;
	if (mtu < need)
		snprintf(out, size, "; encap srv6: %u", need);
}

/* The longest header of most services: towards IPv4 alone, or towards any server. */
static unsigned longest_header(uint8_t flags, bool has_ipv6)
{
	const struct encap_template widest = {.ipv6 = has_ipv6};

	return encap_gue.overhead(&widest, encap_candidates(&encap_gue), flags);
}

static void check_mtu(struct preflight *preflight, const struct options *options, const char *port, unsigned mtu,
		      bool has_ipv6)
{
	const uint8_t flags = options->has_tag_key ? FL_LIST_TAG : 0;
	unsigned more = longest_header(flags, has_ipv6);
	char wider[32] = "";

	if (has_ipv6)
		srv6_need(wider, sizeof(wider), flags, mtu);
	if (mtu >= CLIENT_MTU + more)
		preflight_add(preflight, "mtu", port, PREFLIGHT_OK,
			      "%u carries %u bytes of a client, %u more with the header%s", mtu, CLIENT_MTU, more,
			      wider);
	else
		preflight_add(preflight, "mtu", port, PREFLIGHT_WARN,
			      "%u leaves %d bytes for a client's packet (the header takes up to %u): larger ones are "
			      "answered by ICMP; raise the MTU towards the servers to %u%s",
			      mtu, (int)mtu - (int)more, more, CLIENT_MTU + more, wider);
}

static void check_queues(struct preflight *preflight, const struct options *options, const char *port,
			 const char *interface)
{
	unsigned queues = 1;
	int error = interface_queues(interface, &queues);

	if (error)
		preflight_add(preflight, "queues", port, PREFLIGHT_WARN, "can't be read: %s", strerror(-error));
	else if (queues != options->workers)
		preflight_add(
		    preflight, "queues", port, PREFLIGHT_FAIL,
		    "%u receive queues, --workers %u: packets of the others would miss the mux (ethtool -L %s "
		    "combined %u)",
		    queues, options->workers, interface, options->workers);
	else
		preflight_add(preflight, "queues", port, PREFLIGHT_OK, "%u, one for each worker", queues);
	if (error || queues < 2)
		return;
	if (!interface_hashes_ports(interface, IPPROTO_TCP))
		preflight_add(preflight, "rss", port, PREFLIGHT_WARN,
			      "TCP is distributed regardless of ports: one worker gets all connections of a client "
			      "(ethtool -N %s "
			      "rx-flow-hash tcp4 sdfn)",
			      interface);
	else if (!interface_hashes_ports(interface, IPPROTO_UDP))
		preflight_add(
		    preflight, "rss", port, PREFLIGHT_WARN,
		    "UDP is distributed regardless of ports: one worker gets all datagrams of a client (ethtool -N %s "
		    "rx-flow-hash udp4 sdfn)",
		    interface);
	else
		preflight_add(preflight, "rss", port, PREFLIGHT_OK, "flows are distributed by their ports");
}

/* Packets merged before the mux sees them are too large to be sent by any port. */
static void check_offloads(struct preflight *preflight, const char *port, const char *interface, bool is_packet_socket)
{
	bool lro = interface_has_lro(interface), merges = is_packet_socket && interface_has_gro(interface);

	if (lro || merges)
		preflight_add(preflight, "offloads", port, PREFLIGHT_WARN,
			      "%s is on: the packets that it merges are too big to be sent on (ethtool -K %s %s off)",
			      lro ? "LRO" : "GRO", interface, lro ? "lro" : "gro");
	else
		preflight_add(preflight, "offloads", port, PREFLIGHT_OK, "packets are not merged on receipt");
}

/* The driver that a PCI device is bound to, "" for none. */
static void pci_driver(const char *address, char *out, size_t size)
{
	char path[128], target[256];
	ssize_t len;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s%.*s/driver", strlen(address) < 12 ? "0000:" : "",
		 (int)strcspn(address, ","), address);
	len = readlink(path, target, sizeof(target) - 1);
	target[len > 0 ? len : 0] = 0;
	snprintf(out, size, "%s", strrchr(target, '/') ? strrchr(target, '/') + 1 : "");
}

static void check_pci(struct preflight *preflight, const char *port)
{
	/* mlx drivers share the device with DPDK */
	static const char *const good[] = {"vfio-pci", "igb_uio", "uio_pci_generic", "mlx5_core", "mlx4_core"};
	char driver[64];

	pci_driver(port, driver, sizeof(driver));
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!strcmp(driver, good[i])) {
			preflight_add(preflight, "driver", port, PREFLIGHT_OK, "%s", driver);
			return;
		}
	preflight_add(preflight, "driver", port, PREFLIGHT_FAIL,
		      "%s%s: DPDK can't take it; allowed: vfio-pci, igb_uio, uio_pci_generic, mlx5_core, mlx4_core "
		      "(dpdk-devbind.py -b vfio-pci %s)",
		      *driver ? "bound to " : "no such device, or bound to no driver", driver, port);
}

void preflight_port(struct preflight *preflight, const struct options *options, const char *port)
{
	bool is_xdp = !strncmp(port, "af_xdp:", 7), is_packet = !strncmp(port, "af_packet:", 10);
	const char *interface = port + (is_xdp ? 7 : 10);
	struct fl_address address;
	uint16_t mtu;

	if (port_is_pci(port))
		check_pci(preflight, port);
	if (!is_xdp && !is_packet)
		return;
	if (!if_nametoindex(interface)) {
		preflight_add(preflight, "interface", port, PREFLIGHT_FAIL, "no such interface here");
		return;
	}
	if (interface_is_up(interface))
		preflight_add(preflight, "interface", port, PREFLIGHT_OK, "up");
	else
		preflight_add(preflight, "interface", port, PREFLIGHT_WARN, "down, or without a carrier");
	if (is_xdp)
		check_queues(preflight, options, port, interface);
	check_offloads(preflight, port, interface, is_packet);
	if (!interface_mtu(interface, &mtu))
		check_mtu(preflight, options, port, mtu,
			  !fl_address_is_none(&options->address6) || !interface_address(interface, AF_INET6, &address));
}

void preflight_devices(struct preflight *preflight, const struct options *options, const struct ports *ports)
{
	for (unsigned i = 0; i < ports->count; i++) {
		const struct port *port = &ports->port[i];
		struct rte_eth_dev_info info;
		uint16_t mtu;

		if (port->kind != PORT_RAW || rte_eth_dev_info_get(port->id, &info))
			continue;
		if (options->workers > info.max_rx_queues || options->workers > info.max_tx_queues)
			preflight_add(preflight, "queues", port->arguments, PREFLIGHT_FAIL,
				      "at most %u to receive and %u to send, --workers %u", info.max_rx_queues,
				      info.max_tx_queues, options->workers);
		else
			preflight_add(preflight, "queues", port->arguments, PREFLIGHT_OK,
				      "%u of %u to receive, of %u to send (driver %s)", options->workers,
				      info.max_rx_queues, info.max_tx_queues, info.driver_name);
		if (options->workers > 1 &&
		    (~info.flow_type_rss_offloads & (RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP)))
			preflight_add(preflight, "rss", port->arguments, PREFLIGHT_WARN,
				      "the device does not distribute flows by ports%s",
				      info.flow_type_rss_offloads ? "" : ", nor at all: one worker gets everything");
		if (!rte_eth_dev_get_mtu(port->id, &mtu))
			check_mtu(preflight, options, port->arguments, mtu, !fl_address_is_none(&options->address6));
	}
}
