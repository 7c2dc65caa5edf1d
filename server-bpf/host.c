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
		const struct sockaddr_in *in = (const struct sockaddr_in *)one->ifa_addr;
		struct fl_address here;

		if (!in || in->sin_family != AF_INET)
			continue;
		here = fl_address_from_ipv4((const fl_u8 *)&in->sin_addr);
		found |= fl_address_equal(&here, address);
	}
	freeifaddrs(list);
	return found;
}

/* bpf_fib_lookup and the kernel both route for others only where forwarding is on. */
static bool forwarding_is_on(const char *interface)
{
	char path[128];
	FILE *file;
	int value;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/forwarding", interface);
	file = fopen(path, "re");
	if (!file)
		return false;
	value = fgetc(file);
	fclose(file);
	return value == '1';
}

int host_check(const struct config *config, const char *interface)
{
	char text[CONFIG_TEXT_LEN], field[128];

	if (!address_is_here(&config->program.self))
		return refusal_print("--address", config_address_text(&config->program.self, text),
				     "an address of this network namespace");
	if (!config->program.chaining || forwarding_is_on(interface))
		return 0;
	snprintf(field, sizeof(field), "net.ipv4.conf.%s.forwarding", interface);
	return refusal_print(field, "0",
			     "1, as chained packets need a route to the previous owner; or attach with --no-chaining");
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
