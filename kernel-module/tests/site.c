// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "form.h"
#include "rig.h"
#include "site.h"

#define SELF_MAC "02:00:00:00:00:22" /* as packet_begin_outer() has them */
#define MUX_MAC  "02:00:00:00:00:11"

enum {
	SOCKETS = 64,
	CHUNK = 8192,
	PACKET_LARGEST = 65535,
};

struct mux_packet {
	struct virtio_net_hdr offload;
	fl_u8 bytes[PACKET_LARGEST];
} __attribute__((packed));

static struct {
	int tun, out, out_to;

	pthread_t thread;
} mux;

static struct {
	int namespace;
	struct genetlink module;
	struct pollfd sockets[SOCKETS]; /* two listeners and two of UDP first */
	nfds_t count;
	pthread_t thread;
	volatile int accepted; /* the last one */
} server;

static int here;

static void give_up(const char *what)
{
	fprintf(stderr, "site: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void enter(int namespace)
{
	if (setns(namespace, CLONE_NEWNET))
		give_up("setns");
}

struct site_end site_end(const char *address, fl_u16 port)
{
	struct site_end end = {.len = sizeof(end.address.ipv4)};

	if (inet_pton(AF_INET, address, &end.address.ipv4.sin_addr) == 1) {
		end.address.ipv4.sin_family = AF_INET;
		end.address.ipv4.sin_port = htons(port);
		return end;
	}
	memset(&end, 0, sizeof(end));
	end.len = sizeof(end.address.ipv6);
	end.address.ipv6.sin6_family = AF_INET6;
	end.address.ipv6.sin6_port = htons(port);
	inet_pton(AF_INET6, address, &end.address.ipv6.sin6_addr);
	return end;
}

int site_socket(int type, const char *address, fl_u16 port)
{
	struct timeval deadline = {.tv_sec = SITE_SECONDS};
	struct site_end end = site_end(address, port);
	int one = 1, fd = socket(end.address.any.sa_family, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, &end.address.any, end.len))
		give_up(address);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof(deadline));
	return fd;
}

/* Writes a frame up to the inner packet; returns its length. */
static size_t frame_write(struct mux_packet *out, const struct mux_packet *in, size_t len)
{
	struct fl_list list = {
	    .inner_protocol = in->bytes[0] >> 4 == 4 ? FL_LIST_GUE_IPV4 : FL_LIST_GUE_IPV6,
	    .service = 1,
	    .generation = 12,
	};
	struct fl_address from = packet_address("10.1.0.11"), to = packet_address(SITE_SELF);
	fl_u8 gue[FL_LIST_MAX_LEN], *ip;
	struct packet head;

	packet_begin_outer(&head, &from, &to, FL_LIST_GUE_PORT);
	packet_add_bytes(&head, gue, fl_list_write(&list, gue));
	ip = head.data + PACKET_OUTER_AT;
	fl_store_be16(head.data + PACKET_UDP_AT + 4, (fl_u16)(head.len - PACKET_UDP_AT + len));
	fl_store_be16(ip + 2, (fl_u16)(head.len - PACKET_OUTER_AT + len));
	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
	out->offload = in->offload;
	out->offload.hdr_len = (fl_u16)(out->offload.hdr_len ? out->offload.hdr_len + head.len : 0);
	if (out->offload.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		out->offload.csum_start = (fl_u16)(out->offload.csum_start + head.len);
	memcpy(out->bytes, head.data, head.len);
	memcpy(out->bytes + head.len, in->bytes, len);
	return sizeof(out->offload) + head.len + len;
}

static void *mux_run(void *unused)
{
	static struct mux_packet in, out;
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = mux.out_to, .sll_protocol = htons(ETH_P_IP)};
	ssize_t len;

	(void)unused;
	while ((len = read(mux.tun, &in, sizeof(in))) > (ssize_t)sizeof(in.offload)) {
		size_t frame_len = frame_write(&out, &in, (size_t)len - sizeof(in.offload));

		sendto(mux.out, &out, frame_len, 0, (struct sockaddr *)&to, sizeof(to));
	}
	return NULL;
}

void site_mux_offload(bool on)
{
	if (ioctl(mux.tun, TUNSETOFFLOAD, on ? TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 : 0))
		give_up("TUNSETOFFLOAD");
}

static void mux_open(void)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR, .ifr_name = "tun0"};
	int one = 1;

	mux.tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (mux.tun < 0 || ioctl(mux.tun, TUNSETIFF, &request))
		give_up("tun0");
	site_mux_offload(true);
	rig_command("ip link set tun0 up mtu 1400 gso_max_size 32768");
	rig_command("ip route add 10.99.0.0/24 dev tun0 src " SITE_CLIENT);
	rig_command("ip -6 route add 2001:db8:99::/64 dev tun0 src " SITE_CLIENT6);
	mux.out = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	mux.out_to = (int)if_nametoindex("to-server");
	if (mux.out < 0 || setsockopt(mux.out, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)))
		give_up("a packet socket");
	pthread_create(&mux.thread, NULL, mux_run, NULL);
}

/* Sends back what came; a connection that has ended is closed. */
static void server_answer(struct pollfd *socket, bool is_udp)
{
	static char data[CHUNK];
	struct site_end from = {.len = sizeof(from.address)};
	ssize_t len = recvfrom(socket->fd, data, sizeof(data), 0, &from.address.any, &from.len);

	if (is_udp && len >= 0) {
		sendto(socket->fd, data, (size_t)len, 0, &from.address.any, from.len);
	} else if (len > 0) {
		send(socket->fd, data, (size_t)len, MSG_NOSIGNAL);
	} else if (!is_udp && !(len < 0 && errno == EAGAIN)) {
		close(socket->fd);
		socket->fd = -1;
	}
}

static void *server_run(void *unused)
{
	(void)unused;
	while (poll(server.sockets, server.count, -1) >= 0) {
		nfds_t i;

		for (i = 2; i < server.count; i++)
			if (server.sockets[i].revents)
				server_answer(&server.sockets[i], i < 4);
		for (i = 0; i < 2; i++)
			if (server.sockets[i].revents && server.count < SOCKETS) {
				server.accepted = accept(server.sockets[i].fd, NULL, NULL);
				server.sockets[server.count] = (struct pollfd){.fd = server.accepted, .events = POLLIN};
				server.count++;
			}
	}
	return NULL;
}

static void server_listen(int type, const char *address)
{
	int fd = site_socket(type, address, SITE_PORT);

	if (type == SOCK_STREAM && listen(fd, SOCKETS))
		give_up("listen");
	server.sockets[server.count++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static void server_open(void)
{
	static struct config config;

	if (unshare(CLONE_NEWNET))
		give_up("a network namespace");
	server.namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	rig_command("ip link set lo up");
	rig_command("ip link add eth0 address " SELF_MAC " type veth peer name to-server address " MUX_MAC);
	rig_command("ip link set to-server netns /proc/%d/fd/%d", getpid(), here);
	rig_command("ip addr add " SITE_SELF "/32 dev eth0 && ip addr add " SITE_SELF6 "/128 dev eth0 nodad");
	rig_command("ip link set eth0 up && ip route add default dev eth0 && ip -6 route add default dev eth0");
	rig_command("echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter");
	rig_command("echo 0 > /proc/sys/net/ipv4/conf/eth0/rp_filter");
	rig_command("ip neigh add " SITE_CLIENT " lladdr " MUX_MAC " dev eth0");
	rig_command("ip neigh add " SITE_CLIENT6 " lladdr " MUX_MAC " dev eth0");
	server_listen(SOCK_STREAM, SITE_SELF);
	server_listen(SOCK_STREAM, SITE_SELF6);
	server_listen(SOCK_DGRAM, SITE_SELF);
	server_listen(SOCK_DGRAM, SITE_SELF6);
	config = config_default;
	config_set(&config, "address", SITE_SELF "," SITE_SELF6);
	config_set(&config, "peers", "10.1.0.0/24");
	config.program.mangle = 1;
	config.program.quiet = 0;
	if (module_open(&server.module) || form_module_set(&server.module, &config)) {
		fprintf(stderr, "site: %s\n", server.module.error);
		exit(1);
	}
	enter(here);
	rig_command("ip link set to-server up");
	rig_command("ip route add " SITE_SELF " dev to-server src " SITE_CLIENT);
	rig_command("ip -6 route add " SITE_SELF6 " dev to-server src " SITE_CLIENT6);
	rig_command("echo 0 > /proc/sys/net/ipv4/conf/to-server/rp_filter");
	rig_command("ip neigh add " SITE_SELF " lladdr " SELF_MAC " dev to-server");
	rig_command("ip neigh add " SITE_SELF6 " lladdr " SELF_MAC " dev to-server");
	pthread_create(&server.thread, NULL, server_run, NULL);
}

void site_open(void)
{
	if (unshare(CLONE_NEWNET))
		give_up("a network namespace");
	here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	rig_command("ip link set lo up");
	rig_command("echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter");
	rig_command("ip addr add " SITE_CLIENT "/32 dev lo && ip addr add " SITE_CLIENT6 "/128 dev lo nodad");
	server_open();
	mux_open();
}

struct genetlink *site_module(void)
{
	return &server.module;
}

int site_accepted(void)
{
	return server.accepted;
}

void site_server_command(const char *command)
{
	enter(server.namespace);
	rig_command("%s", command);
	enter(here);
}

void site_server_offload(bool on)
{
	struct ethtool_value value = {.cmd = ETHTOOL_STXCSUM, .data = on};
	struct ifreq request = {.ifr_name = "eth0", .ifr_data = (char *)&value};
	int fd;

	enter(server.namespace);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &request))
		give_up("ETHTOOL_STXCSUM");
	close(fd);
	enter(here);
}

void site_mux_send(const struct packet *inner)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = mux.out_to, .sll_protocol = htons(ETH_P_IP)};
	static struct mux_packet in, out;
	size_t len;

	memcpy(in.bytes, inner->data, inner->len);
	len = frame_write(&out, &in, inner->len);
	if (sendto(mux.out, &out, len, 0, (struct sockaddr *)&to, sizeof(to)) != (ssize_t)len)
		give_up("sendto");
}
