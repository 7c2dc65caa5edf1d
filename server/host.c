// SPDX-License-Identifier: Apache-2.0
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

#include "host.h"
#include "refusal.h"

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
	char text[CONFIG_TEXT_LEN];

	if (fl_address_is_none(address) || address_is_here(address))
		return 0;
	return refusal_print("--address", config_address_text(address, text), "an address of this network namespace");
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

int host_check(const struct config *config, const char *interface)
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

bool host_needs_redirect(const char *interface)
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
