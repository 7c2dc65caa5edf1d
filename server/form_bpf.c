// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arguments.h"
#include "form.h"
#include "refusal.h"
#include "running.h"
#include "text.h"

#ifndef FAIRLEAD_VERSION
#error "FAIRLEAD_VERSION comes from meson"
#endif

static int check_arguments(const struct arguments *arguments)
{
	return arguments->interface ? 0 : refusal_print("--interface", "", "the name of an interface");
}

static int check_config(const struct config *config)
{
	if (config->program.ipip_service)
		return refusal_print("--ipip-service", "given",
				     "only with --form module: the XDP program receives GUE and segment routing");
	if (config->program.mangle)
		return refusal_print("--mangle", "given",
				     "only with --form module: the XDP program sees no replies, to write the VIP back");
	return 0;
}

static bool address_is_here(const struct fl_address *address)
{
	struct ifaddrs *list, *one;
	bool found = false;

	if (getifaddrs(&list))
		return false;
	for (one = list; one; one = one->ifa_next) {
		struct fl_address here;

		if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET)
			here = fl_address_from_ipv4((const fl_u8 *)&((struct sockaddr_in *)one->ifa_addr)->sin_addr);
		else if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET6)
			memcpy(&here, &((struct sockaddr_in6 *)one->ifa_addr)->sin6_addr, sizeof(here));
		else
			continue;
		found |= fl_address_equal(&here, address);
	}
	freeifaddrs(list);
	return found;
}

static int address_check(const struct fl_address *address)
{
	char text[TEXT_LEN];

	if (fl_address_is_none(address) || address_is_here(address))
		return 0;
	return refusal_print("--address", text_address_print(address, text), "an address of this network namespace");
}

/* Checks a sysctl, of the interface or of all, that must be 1 for chained packets to be routed. */
static int sysctl_check(const char *family, const char *interface, const char *name, const char *allowed)
{
	char path[128], field[128];
	FILE *file;
	int value;

	snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", family, interface, name);
	file = fopen(path, "re");
	value = file ? fgetc(file) : '0';
	if (file)
		fclose(file);
	if (value != '0')
		return 0;
	snprintf(field, sizeof(field), "net.%s.conf.%s.%s", family, interface, name);
	return refusal_print(field, "0", allowed);
}

/* The host's prerequisites of a configuration. Returns 0, or prints a sentence with the remedy and returns -EINVAL. */
static int host_check(const struct config *config, const char *interface)
{
	static const char route[] =
	    "1, as packets that are sent on need a route to the next server; or attach with --no-chaining";
	static const char local[] = "1, as the kernel must route packets that are chained from IPv6 to IPv4 until "
				    "the neighbour is resolved; or attach with --no-chaining";
	bool has_ipv4 = !fl_address_is_none(&config->program.self);
	bool has_ipv6 = !fl_address_is_none(&config->program.self6);
	int err = address_check(&config->program.self);

	if (!err)
		err = address_check(&config->program.self6);
	if (err || !config->program.chaining)
		return err;
	if (has_ipv4)
		err = sysctl_check("ipv4", interface, "forwarding", route);
	if (!err && has_ipv6)
		err = sysctl_check("ipv6", interface, "forwarding", route);
	if (!err && has_ipv6)
		err = sysctl_check("ipv6", "all", "forwarding", route);
	if (!err && has_ipv4 && has_ipv6)
		err = sysctl_check("ipv4", interface, "accept_local", local);
	return err;
}

/*
 * Whether a packet that leaves by its incoming interface should be redirected there. veth's XDP_TX wakes its peer only
 * if the peer has an XDP program too; otherwise the packet waits until something else is sent. XDP_REDIRECT always
 * wakes a peer that has GRO on; a peer without GRO accepts neither. Network cards are faster with XDP_TX.
 */
static bool host_needs_redirect(const char *interface)
{
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq request = {.ifr_data = (char *)&driver};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_veth;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	is_veth = fd >= 0 && !ioctl(fd, SIOCETHTOOL, &request) && !strcmp(driver.driver, "veth");
	if (fd >= 0)
		close(fd);
	return is_veth;
}

static int attach(const struct arguments *arguments, struct config *config)
{
	struct running running;
	int err;

	config->program.redirect = host_needs_redirect(arguments->interface);
	err = running_open(&running, arguments->interface);
	if (!err)
		err = host_check(config, running.interface);
	if (!err)
		err = program_attach(&running, config, arguments->mode);
	running_close(&running);
	return err;
}

static int detach(const struct arguments *arguments)
{
	struct running running;
	int err = running_open(&running, arguments->interface);

	if (!err)
		err = program_detach(&running);
	running_close(&running);
	return err;
}

static struct document_peers peers_read(const struct running *running)
{
	struct document_peers peers = {json_array(), json_array(), json_array()};
	struct fl_peer_key *previous = NULL;
	struct fl_peer peer;

	while (!bpf_map_get_next_key(running->maps[RUNNING_PEERS], previous, &peer.prefix)) {
		if (!bpf_map_lookup_elem(running->maps[RUNNING_PEERS], &peer.prefix, &peer.roles))
			document_peers_add(&peers, &peer);
		previous = &peer.prefix;
	}
	return peers;
}

static json_t *counters_read(const struct running *running)
{
	int cpus = libbpf_num_possible_cpus();
	fl_u64 *values = cpus > 0 ? calloc((size_t)cpus, sizeof(*values)) : NULL;
	fl_u64 sums[FL_COUNTERS] = {0};
	__u32 slot;
	int cpu;

	for (slot = 0; values && slot < FL_COUNTERS; slot++) {
		if (bpf_map_lookup_elem(running->maps[RUNNING_COUNTERS], &slot, values)) {
			free(values);
			return NULL;
		}
		for (cpu = 0; cpu < cpus; cpu++)
			sums[slot] += values[cpu];
	}
	free(values);
	return cpus > 0 ? document_counters(sums) : NULL;
}

static void load_read_into(const struct running *running, json_t *services, __u32 slot)
{
	struct fl_load_setting setting;
	struct fl_load_state state;

	if (!bpf_map_lookup_elem(running->maps[RUNNING_LOAD_SETTINGS], &slot, &setting) &&
	    !bpf_map_lookup_elem(running->maps[RUNNING_LOAD_STATES], &slot, &state))
		document_load_add(services, slot, &setting, &state);
}

/* Services whose generation has been seen. NULL: they cannot be read. */
static json_t *services_read(const struct running *running)
{
	static __u32 slots[FL_SERVER_SERVICES], generations[FL_SERVER_SERVICES];
	__u32 position, count = FL_SERVER_SERVICES, i;
	json_t *services;

	if (bpf_map_lookup_batch(running->maps[RUNNING_GENERATIONS], NULL, &position, slots, generations, &count,
				 NULL) &&
	    errno != ENOENT) /* that says that these were the last */
		return NULL;
	services = json_object();
	for (i = 0; i < count; i++) {
		if (!generations[i])
			continue;
		document_service_add(services, slots[i], generations[i]);
		load_read_into(running, services, slots[i]);
	}
	return services;
}

static json_t *document_read(const struct running *running)
{
	struct document_parts parts = {
	    .form = "bpf",
	    .version = FAIRLEAD_VERSION,
	    .interface = running->interface,
	    .config = document_config(&running->config, peers_read(running), running->mode),
	    .counters = counters_read(running),
	    .services = services_read(running),
	    .quiet_left = running_quiet_left(running),
	    .flows = -1,
	};

	return document_make(&parts);
}

static int show(const struct arguments *arguments, json_t **document)
{
	struct running running;
	int err = running_open(&running, arguments->interface);

	if (!err)
		err = running_check(&running);
	if (!err) {
		*document = document_read(&running);
		err = *document ? 0 : running_fail(&running, "cannot read the program's maps", -EIO);
	}
	running_close(&running);
	return err;
}

static int forget(const struct arguments *arguments, fl_u32 *generation)
{
	struct running running;
	int err = running_open(&running, arguments->interface);

	if (!err)
		err = running_check(&running);
	if (!err) {
		err = running_forget(&running, (fl_u16)arguments->service, generation);
		if (err)
			running_fail(&running, "cannot change the program's maps", err);
	}
	running_close(&running);
	return err;
}

const struct form form_bpf = {
    .word = "bpf",
    .check_arguments = check_arguments,
    .check_config = check_config,
    .attach = attach,
    .detach = detach,
    .show = show,
    .forget = forget,
    .load = &load_bpf,
};
