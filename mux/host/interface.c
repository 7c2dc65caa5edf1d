/* SPDX-License-Identifier: Apache-2.0 */
#include "host/interface.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int ask_kernel(unsigned long request, void *data)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error = 0;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, request, data))
		error = -errno;
	close(fd);
	return error;
}

static int ask(const char *name, unsigned long request, struct ifreq *ifr)
{
	strncpy(ifr->ifr_name, name, sizeof(ifr->ifr_name) - 1);
	return ask_kernel(request, ifr);
}

int interface_mtu(const char *name, uint16_t *mtu)
{
	struct ifreq ifr = {0};
	int error = ask(name, SIOCGIFMTU, &ifr);

	if (!error)
		*mtu = ifr.ifr_mtu > UINT16_MAX ? UINT16_MAX : (uint16_t)ifr.ifr_mtu;
	return error;
}

int interface_set_mtu(const char *name, uint16_t mtu)
{
	struct ifreq ifr = {.ifr_mtu = mtu};

	return ask(name, SIOCSIFMTU, &ifr);
}

int interface_mac(const char *name, uint8_t mac[6])
{
	struct ifreq ifr = {0};
	int error = ask(name, SIOCGIFHWADDR, &ifr);

	if (!error)
		memcpy(mac, ifr.ifr_hwaddr.sa_data, 6);
	return error;
}

static bool is_vlan_of(const char *interface, const char *name)
{
	struct vlan_ioctl_args query = {.cmd = GET_VLAN_REALDEV_NAME_CMD};

	strncpy(query.device1, interface, sizeof(query.device1) - 1);
	return !ask_kernel(SIOCGIFVLAN, &query) && !strcmp(query.u.device2, name);
}

/* vlan: searches the VLANs on the interface instead of the interface itself. */
static int find_address(const char *name, bool vlan, int family, struct fl_address *out)
{
	struct ifaddrs *all, *at;
	int error = -EADDRNOTAVAIL;

	if (getifaddrs(&all))
		return -errno;
	for (at = all; at && error; at = at->ifa_next) {
		if (!at->ifa_addr || at->ifa_addr->sa_family != family ||
		    (vlan ? !is_vlan_of(at->ifa_name, name) : strcmp(at->ifa_name, name)))
			continue;
		if (family == AF_INET) {
			struct sockaddr_in in;

			memcpy(&in, at->ifa_addr, sizeof(in));
			*out = fl_address_from_ipv4((const uint8_t *)&in.sin_addr);
			error = 0;
		} else {
			struct sockaddr_in6 in6;

			memcpy(&in6, at->ifa_addr, sizeof(in6));
			memcpy(out->bytes, &in6.sin6_addr, sizeof(out->bytes));
			error = IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr) ? -EADDRNOTAVAIL : 0;
		}
	}
	freeifaddrs(all);
	return error;
}

int interface_address(const char *name, int family, struct fl_address *out)
{
	return find_address(name, false, family, out) ? find_address(name, true, family, out) : 0;
}

int interface_queues(const char *name, unsigned *queues)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq ifr = {.ifr_data = (void *)&channels};
	int error = ask(name, SIOCETHTOOL, &ifr);

	*queues = 1;
	if (error == -EOPNOTSUPP)
		return 0;
	if (!error && channels.combined_count + channels.rx_count)
		*queues = channels.combined_count + channels.rx_count;
	return error;
}

bool interface_is_up(const char *name)
{
	struct ifreq ifr = {0};

	return !ask(name, SIOCGIFFLAGS, &ifr) && ifr.ifr_flags & IFF_UP && ifr.ifr_flags & IFF_RUNNING;
}

static bool hashes_ports(const char *name, uint32_t flow)
{
	struct ethtool_rxnfc query = {.cmd = ETHTOOL_GRXFH, .flow_type = flow};
	struct ifreq ifr = {.ifr_data = (void *)&query};

	return ask(name, SIOCETHTOOL, &ifr) || (query.data & RXH_L4_B_0_1 && query.data & RXH_L4_B_2_3);
}

bool interface_hashes_ports(const char *name, uint8_t protocol)
{
	bool is_tcp = protocol == IPPROTO_TCP;

	return hashes_ports(name, is_tcp ? TCP_V4_FLOW : UDP_V4_FLOW) &&
	       hashes_ports(name, is_tcp ? TCP_V6_FLOW : UDP_V6_FLOW);
}

/* The value that an ethtool command reports; 0 if the driver does not support it. */
static uint32_t ethtool_value(const char *name, uint32_t command)
{
	struct ethtool_value value = {.cmd = command};
	struct ifreq ifr = {.ifr_data = (void *)&value};

	return ask(name, SIOCETHTOOL, &ifr) ? 0 : value.data;
}

bool interface_has_lro(const char *name)
{
	return ethtool_value(name, ETHTOOL_GFLAGS) & ETH_FLAG_LRO;
}

bool interface_has_gro(const char *name)
{
	return ethtool_value(name, ETHTOOL_GGRO);
}
