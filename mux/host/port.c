/* SPDX-License-Identifier: Apache-2.0 */
#include "host/port.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>

#include <fairlead/ip.h>

#include "host/interface.h"
#include "host/mac.h"
#include "host/xdp.h"

enum {
	RING_SIZE = 2048,
	POOL_PER_QUEUE = 4 * RING_SIZE, /* AF_XDP: fill, receive, send and completion ring of each queue pair */
	POOL_CACHE = 256,
	XDP_HEADROOM = 256,
	XDP_FRAME_MAX = 4096, /* an AF_XDP frame lies in one page, with mempool header, mbuf and both headrooms */
	XDP_FRAME_EXTRA = 64 + sizeof(struct rte_mbuf) + RTE_PKTMBUF_HEADROOM + XDP_HEADROOM,
	ROOM_MIN = 2048 + RTE_PKTMBUF_HEADROOM,
	/* a buffer's size is a 16-bit number, and the packet socket's frame must fit one as well */
	MTU_MAX = 32768 - 128 - FL_ETHERNET_LEN - FL_VLAN_LEN,
	EAL_ARGUMENTS_MAX = 16 + 2 * OPTIONS_PORTS_MAX,
};

static bool has_prefix(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* PCI addresses begin with hex digits and a colon, virtual devices with a name. */
bool port_is_pci(const char *arguments)
{
	size_t digits = strspn(arguments, "0123456789abcdefABCDEF");

	return digits >= 2 && arguments[digits] == ':';
}

/* All CPUs that we may run on, in EAL's list format: "0,1,5". */
static void cpu_list(char *out, size_t size)
{
	cpu_set_t set;
	size_t at = 0;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0; cpu < CPU_SETSIZE && at + 8 < size; cpu++)
		if (CPU_ISSET(cpu, &set))
			at += (size_t)snprintf(out + at, size - at, "%s%d", at ? "," : "", cpu);
}

int ports_environment(const struct options *options, struct reason *why)
{
	const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	char cpus[1024], lcores[1040], memory[16];
	char *argv[EAL_ARGUMENTS_MAX];
	bool pci = false;
	int argc = 0;

	/* one DPDK core that floats over all allowed CPUs; workers are our own threads and inherit this */
	cpu_list(cpus, sizeof(cpus));
	snprintf(lcores, sizeof(lcores), "0@(%s)", cpus);
	snprintf(memory, sizeof(memory), "%u", options->memory);
	argv[argc++] = (char *)"fairlead-mux";
	argv[argc++] = (char *)"--lcores";
	argv[argc++] = lcores;
	argv[argc++] = (char *)"-m";
	argv[argc++] = memory;
	argv[argc++] = (char *)"--no-telemetry";
	argv[argc++] = (char *)"--log-level=warning";
	/* neither leaves anything on disk, and both allow several muxes on one machine */
	if (options->no_huge) {
		argv[argc++] = (char *)"--no-huge";
		argv[argc++] = (char *)"--no-shconf";
		argv[argc++] = (char *)"--iova-mode=va";
	} else {
		argv[argc++] = (char *)"--in-memory";
	}
	for (unsigned i = 0; i < options->ports_count; i++)
		if (port_is_pci(options->ports[i])) {
			argv[argc++] = (char *)"-a";
			argv[argc++] = (char *)options->ports[i];
			pci = true;
		}
	if (!pci)
		argv[argc++] = (char *)"--no-pci";

	/* AF_XDP pins its memory; if the limit can't be raised, opening a port fails and says so */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	if (rte_eal_init(argc, argv) < 0)
		return reason_set(
		    why, -rte_errno, "DPDK does not start with %u MB%s: %s (its log is above)", options->memory,
		    options->no_huge ? "" : " of huge pages; --no-huge does without them", rte_strerror(rte_errno));
	return 0;
}

/* Checks the interface of af_xdp: or af_packet: and fills in its properties. */
static int look_up(struct port *port, const char *interface, unsigned workers, struct reason *why)
{
	unsigned queues;
	int error;

	if (!*interface || strlen(interface) >= sizeof(port->interface))
		return reason_set(why, -EINVAL,
				  "--port: '%s' is not allowed; allowed: an interface of 1..%zu characters",
				  port->arguments, sizeof(port->interface) - 1);
	strcpy(port->interface, interface);
	port->ifindex = if_nametoindex(interface);
	if (!port->ifindex)
		return reason_set(why, -ENODEV, "--port: '%s' is not allowed; there is no interface %s here",
				  port->arguments, interface);
	error = interface_mtu(interface, &port->mtu);
	if (error)
		return reason_set(why, error, "--port: %s: can't read its MTU: %s", interface, strerror(-error));
	if (port->kind != PORT_AF_XDP)
		return 0;
	error = interface_queues(interface, &queues);
	if (error)
		return reason_set(why, error, "--port: %s: can't read its queues: %s", interface, strerror(-error));
	if (queues != workers)
		return reason_set(why, -EINVAL,
				  "--workers: %u does not suit %s, which has %u receive queues; packets of the others "
				  "would miss the mux (ethtool -L %s changes their number)",
				  workers, interface, queues, interface);
	if (port->mtu + FL_ETHERNET_LEN + FL_VLAN_LEN + (int)XDP_FRAME_EXTRA > XDP_FRAME_MAX)
		return reason_set(why, -EINVAL, "--port: %s has MTU %u; allowed with af_xdp: at most %d", interface,
				  port->mtu, XDP_FRAME_MAX - (int)XDP_FRAME_EXTRA - FL_ETHERNET_LEN - FL_VLAN_LEN);
	return 0;
}

/* Attaches a device by its arguments and finds its id. */
static int probe(const char *devargs, uint16_t *id, const struct port *port, struct reason *why)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	int error = port_is_pci(devargs) ? 0 : rte_dev_probe(devargs);

	if (error)
		return reason_set(why, error,
				  "--port: '%s' can't be opened: %s (DPDK's log is above); allowed: af_xdp:IFACE, "
				  "af_packet:IFACE, a PCI address, a DPDK virtual device",
				  port->arguments, strerror(-error));
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(devargs, ","), devargs);
	if (rte_eth_dev_get_port_by_name(name, id))
		return reason_set(why, -ENODEV, "--port: '%s' is not a network device that DPDK knows",
				  port->arguments);
	return 0;
}

static int probe_af_xdp(struct port *port, unsigned index, unsigned workers, struct reason *why)
{
	char devargs[OPTIONS_TEXT_MAX * 2];
	int object, error;

	error = xdp_vacant(port->interface, port->ifindex, why);
	if (error)
		return error;
	object = xdp_object(why);
	if (object < 0)
		return object;
	/* no busy polling: an idle mux sleeps while the kernel's softirq fills the ring */
	snprintf(devargs, sizeof(devargs),
		 "net_af_xdp%u,iface=%s,start_queue=0,queue_count=%u,busy_budget=0,xdp_prog=/proc/self/fd/%d", index,
		 port->interface, workers, object);
	error = probe(devargs, &port->id, port, why);
	if (error)
		close(object);
	else
		port->object = object; /* DPDK reads it when the queues are set up */
	return error;
}

static int probe_af_packet(struct port *port, unsigned index, unsigned workers, struct reason *why)
{
	char devargs[OPTIONS_TEXT_MAX * 2];
	unsigned frame = 2048;

	while (frame < port->mtu + FL_ETHERNET_LEN + FL_VLAN_LEN + 128U) /* 128: the packet socket's own header */
		frame *= 2;
	snprintf(devargs, sizeof(devargs), "net_af_packet%u,iface=%s,qpairs=%u,blocksz=%u,framesz=%u,framecnt=%u",
		 index, port->interface, workers, 32 * frame, frame, RING_SIZE);
	return probe(devargs, &port->id, port, why);
}

/* The kernel's path to and from a port that was taken from it: a TAP with the same MAC address. */
static int probe_exception(struct port *port, unsigned index, struct reason *why)
{
	char devargs[OPTIONS_TEXT_MAX];
	uint8_t mac[6];
	int error;

	memcpy(mac, &port->mac, sizeof(mac));

	snprintf(port->interface, sizeof(port->interface), "flport%u", index);
	snprintf(devargs, sizeof(devargs), "net_tap%u,iface=%s,mac=%02x:%02x:%02x:%02x:%02x:%02x", index,
		 port->interface, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	error = probe(devargs, &port->exception, port, why);
	if (error)
		return error;
	port->ifindex = if_nametoindex(port->interface);
	return 0;
}

static int probe_raw(struct port *port, unsigned index, bool exception, struct reason *why)
{
	struct rte_ether_addr mac;
	int error = probe(port->arguments, &port->id, port, why);

	if (error)
		return error;
	rte_eth_macaddr_get(port->id, &mac);
	port->mac = mac_word(mac.addr_bytes);
	rte_eth_dev_get_mtu(port->id, &port->mtu);
	return exception ? probe_exception(port, index, why) : 0;
}

static int open_device(struct port *port, const struct options *options, unsigned index, struct reason *why)
{
	const char *interface;
	uint8_t mac[6];
	int error;

	*port =
	    (struct port){.id = PORT_NONE, .exception = PORT_NONE, .claim = -1, .object = -1, .vips4 = -1, .vips6 = -1};
	strcpy(port->arguments, options->ports[index]);
	if (has_prefix(port->arguments, "af_xdp:"))
		port->kind = PORT_AF_XDP;
	else if (has_prefix(port->arguments, "af_packet:"))
		port->kind = PORT_AF_PACKET;
	else
		port->kind = PORT_RAW;
	if (port->kind == PORT_RAW)
		return probe_raw(port, index, !options->no_exception, why);

	interface = strchr(port->arguments, ':') + 1;
	error = look_up(port, interface, options->workers, why);
	if (error)
		return error;
	error = interface_mac(interface, mac);
	if (error)
		return reason_set(why, error, "--port: %s: can't read its MAC address: %s", interface,
				  strerror(-error));
	port->mac = mac_word(mac);
	/* two muxes on one interface would both forward its packets */
	port->claim = xdp_claim(interface, port->ifindex, why);
	if (port->claim < 0)
		return port->claim;
	return port->kind == PORT_AF_XDP ? probe_af_xdp(port, index, options->workers, why)
					 : probe_af_packet(port, index, options->workers, why);
}

/*
 * Whether buffers may cross pages. By default DPDK lets none do so that a device could not read: with small pages
 * (--no-huge) there is then one on each, the same parts of all are in the same cache sets, and a packet takes 18 of 67 ns
 * longer. A PCI device may read by physical addresses, and the kernel gives AF_XDP a page at a time.
 */
static bool can_cross_pages(const struct ports *ports)
{
	for (unsigned i = 0; i < ports->count; i++)
		if (ports->port[i].kind == PORT_AF_XDP || port_is_pci(ports->port[i].arguments))
			return false;
	return true;
}

/* As rte_pktmbuf_pool_create(), which takes no flags. NULL and rte_errno. */
static struct rte_mempool *new_pool(unsigned count, uint16_t room, bool may_cross_pages)
{
	struct rte_pktmbuf_pool_private data = {.mbuf_data_room_size = room};
	unsigned flags = may_cross_pages ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0;
	struct rte_mempool *pool = rte_mempool_create_empty("packets", count, sizeof(struct rte_mbuf) + room,
							    POOL_CACHE, sizeof(data), SOCKET_ID_ANY, flags);
	int error;

	if (!pool)
		return NULL;
	error = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL);
	if (!error) {
		rte_pktmbuf_pool_init(pool, &data);
		error = rte_mempool_populate_default(pool);
	}
	if (error < 0) {
		rte_mempool_free(pool);
		rte_errno = -error;
		return NULL;
	}
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

/* One pool for all ports, so that a packet can leave by another port without being copied. */
static int make_pool(struct ports *ports, const struct options *options, struct reason *why)
{
	unsigned queues = ports->count * options->workers * (options->no_exception ? 1 : 2);
	unsigned room = ROOM_MIN, count = queues * POOL_PER_QUEUE - 1;

	for (unsigned i = 0; i < ports->count; i++) {
		unsigned frame = ports->port[i].mtu + FL_ETHERNET_LEN + FL_VLAN_LEN;

		if (ports->port[i].mtu > MTU_MAX)
			return reason_set(why, -EINVAL, "--port: '%s' has MTU %u; allowed: at most %d",
					  ports->port[i].arguments, ports->port[i].mtu, MTU_MAX);
		if (room < frame + RTE_PKTMBUF_HEADROOM + XDP_HEADROOM)
			room = frame + RTE_PKTMBUF_HEADROOM + XDP_HEADROOM;
	}
	room = RTE_ALIGN_CEIL(room, 64);
	ports->pool = new_pool(count, (uint16_t)room, can_cross_pages(ports));
	if (!ports->pool)
		return reason_set(why, -rte_errno, "--memory: %u MB do not hold %u packets of %u bytes; allowed: more",
				  options->memory, count, room);
	return 0;
}

static int start_device(uint16_t id, unsigned workers, struct rte_mempool *pool)
{
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	uint16_t rx = RING_SIZE, tx = RING_SIZE;
	int error = rte_eth_dev_info_get(id, &info);

	if (error)
		return error;
	if (workers > 1 && info.flow_type_rss_offloads) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf =
		    info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
	}
	if (workers > info.max_rx_queues || workers > info.max_tx_queues)
		return -E2BIG;
	error = rte_eth_dev_configure(id, (uint16_t)workers, (uint16_t)workers, &conf);
	if (!error)
		error = rte_eth_dev_adjust_nb_rx_tx_desc(id, &rx, &tx);
	for (uint16_t q = 0; !error && q < workers; q++)
		error = rte_eth_tx_queue_setup(id, q, tx, SOCKET_ID_ANY, NULL);
	for (uint16_t q = 0; !error && q < workers; q++)
		error = rte_eth_rx_queue_setup(id, q, rx, SOCKET_ID_ANY, NULL, pool);
	return error ? error : rte_eth_dev_start(id);
}

static int start(struct port *port, unsigned workers, struct rte_mempool *pool, struct reason *why)
{
	int error = start_device(port->id, workers, pool);

	if (error)
		return reason_set(why, error, "--port: '%s' does not start with %u queues: %s (DPDK's log is above)",
				  port->arguments, workers, strerror(-error));
	if (port->object >= 0) {
		close(port->object);
		port->object = -1;
	}
	if (port->kind == PORT_AF_XDP)
		return xdp_maps(port->interface, port->ifindex, &port->vips4, &port->vips6, why);
	if (port->exception == PORT_NONE)
		return 0;
	error = start_device(port->exception, workers, pool);
	if (!error)
		error = interface_set_mtu(port->interface, port->mtu);
	if (error)
		return reason_set(why, error, "--port: '%s': its TAP %s does not start: %s", port->arguments,
				  port->interface, strerror(-error));
	return 0;
}

int ports_look(struct ports *ports, const struct options *options, struct reason *why)
{
	int error = 0;

	memset(ports, 0, sizeof(*ports));
	for (unsigned i = 0; !error && i < options->ports_count; i++) {
		error = open_device(&ports->port[i], options, i, why);
		ports->count++;
	}
	return error;
}

int ports_open(struct ports *ports, const struct options *options, struct reason *why)
{
	int error = ports_look(ports, options, why);

	if (!error)
		error = make_pool(ports, options, why);
	for (unsigned i = 0; !error && i < ports->count; i++)
		error = start(&ports->port[i], options->workers, ports->pool, why);
	if (error)
		ports_close(ports);
	return error;
}

static void close_device(uint16_t id)
{
	if (id == PORT_NONE)
		return;
	rte_eth_dev_stop(id);
	rte_eth_dev_close(id);
}

static void close_descriptor(int fd)
{
	if (fd >= 0)
		close(fd);
}

void ports_close(struct ports *ports)
{
	while (ports->count) {
		struct port *port = &ports->port[--ports->count];

		close_descriptor(port->vips4);
		close_descriptor(port->vips6);
		close_descriptor(port->object);
		close_device(port->exception);
		close_device(port->id);
		/* the driver does not detach a program loaded from a file */
		if (port->claim >= 0)
			xdp_detach(port->ifindex);
		close_descriptor(port->claim);
	}
	rte_mempool_free(ports->pool);
	ports->pool = NULL;
}

void ports_vips(void *context, const struct fl_address *vips, uint32_t count)
{
	struct ports *ports = context;

	for (unsigned i = 0; i < ports->count; i++) {
		struct port *port = &ports->port[i];
		int error;

		if (port->kind != PORT_AF_XDP)
			continue;
		error = xdp_sync(port->vips4, true, vips, count, &ports->self);
		if (!error)
			error = xdp_sync(port->vips6, false, vips, count, &ports->self6);
		if (error)
			fprintf(stderr, "fairlead-mux: port %s: the XDP program's VIP maps can't be updated: %s\n",
				port->interface, strerror(-error));
	}
}

struct port *ports_by_ifindex(struct ports *ports, unsigned ifindex)
{
	for (unsigned i = 0; ifindex && i < ports->count; i++)
		if (ports->port[i].ifindex == ifindex)
			return &ports->port[i];
	return NULL;
}

int port_address(const struct port *port, int family, struct fl_address *address)
{
	return *port->interface ? interface_address(port->interface, family, address) : -EADDRNOTAVAIL;
}
