/* SPDX-License-Identifier: Apache-2.0 */
#include "host/xdp.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "redirect.skel.h"

enum { XDP_VIP = 1, XDP_SELF = 2 }; /* the kinds of address, as in redirect.bpf.c */

static const char program_name[] = "fl_mux_redirect";

_Static_assert(sizeof(program_name) <= BPF_OBJ_NAME_LEN, "the kernel keeps the whole name");

int xdp_object(struct reason *why)
{
	size_t size;
	const char *bytes = redirect_bpf__elf_bytes(&size);
	int fd = memfd_create("redirect.bpf.o", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) {
		int error = errno;

		if (fd >= 0)
			close(fd);
		return reason_set(why, -error, "XDP program: can't be put into a memory file: %s", strerror(error));
	}
	return fd;
}

/* The id of the attached program (0: none) and its name. */
static int attached(unsigned ifindex, uint32_t *id, char name[BPF_OBJ_NAME_LEN])
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	int fd, error = bpf_xdp_query_id((int)ifindex, 0, id);

	name[0] = 0;
	if (error || !*id)
		return error;
	fd = bpf_prog_get_fd_by_id(*id);
	if (fd < 0)
		return fd;
	error = bpf_obj_get_info_by_fd(fd, &info, &len);
	close(fd);
	if (!error)
		memcpy(name, info.name, BPF_OBJ_NAME_LEN);
	return error;
}

/* An abstract socket's name is unique in a network namespace, and is released however the process ends. */
static int claim_name(const char *interface)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), len;

	if (fd < 0)
		return -errno;
	len = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "fairlead-mux/%s", interface);
	if (bind(fd, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len))) {
		int error = errno;

		close(fd);
		return -error;
	}
	return fd;
}

int xdp_claim(const char *interface, unsigned ifindex, struct reason *why)
{
	int fd = claim_name(interface);

	if (fd == -EADDRINUSE)
		return reason_set(why, -EBUSY, "--port: %s is in use by another fairlead-mux", interface);
	if (fd < 0)
		return reason_set(why, fd, "--port: %s can't be claimed: %s", interface, strerror(-fd));
	xdp_detach(ifindex);
	return fd;
}

int xdp_vacant(const char *interface, unsigned ifindex, struct reason *why)
{
	char name[BPF_OBJ_NAME_LEN];
	uint32_t id = 0;
	int error = attached(ifindex, &id, name);

	if (error)
		return reason_set(why, error, "--port: af_xdp:%s: can't ask for its XDP program: %s", interface,
				  strerror(-error));
	if (id)
		return reason_set(why, -EBUSY, "--port: af_xdp:%s carries XDP program %u '%s' already; detach it first",
				  interface, id, name);
	return 0;
}

void xdp_detach(unsigned ifindex)
{
	char name[BPF_OBJ_NAME_LEN];
	uint32_t id = 0;

	if (!attached(ifindex, &id, name) && id && !strcmp(name, program_name))
		bpf_xdp_detach((int)ifindex, 0, NULL);
}

int xdp_maps(const char *interface, unsigned ifindex, int *vips4, int *vips6, struct reason *why)
{
	struct bpf_prog_info info = {0};
	uint32_t ids[16], len = sizeof(info), id = 0;
	int fd, error;

	*vips4 = -1;
	*vips6 = -1;
	error = bpf_xdp_query_id((int)ifindex, 0, &id);
	fd = error ? error : bpf_prog_get_fd_by_id(id);
	if (fd < 0)
		return reason_set(why, fd, "--port: af_xdp:%s: its XDP program is missing: %s", interface,
				  strerror(-fd));
	info.map_ids = (uint64_t)(uintptr_t)ids;
	info.nr_map_ids = sizeof(ids) / sizeof(ids[0]);
	error = bpf_obj_get_info_by_fd(fd, &info, &len);
	close(fd);
	for (uint32_t i = 0; !error && i < info.nr_map_ids; i++) {
		struct bpf_map_info map = {0};
		uint32_t map_len = sizeof(map);
		int map_fd = bpf_map_get_fd_by_id(ids[i]);

		if (map_fd < 0 || bpf_obj_get_info_by_fd(map_fd, &map, &map_len))
			map.name[0] = 0;
		if (!strcmp(map.name, "vips4"))
			*vips4 = map_fd;
		else if (!strcmp(map.name, "vips6"))
			*vips6 = map_fd;
		else if (map_fd >= 0)
			close(map_fd);
	}
	if (*vips4 < 0 || *vips6 < 0)
		return reason_set(why, -ENOENT, "--port: af_xdp:%s: its XDP program has no maps vips4 and vips6",
				  interface);
	return 0;
}

static int compare(const void *left, const void *right)
{
	return memcmp(left, right, sizeof(struct fl_address));
}

static bool is_among(const struct fl_address *address, const struct fl_address *sorted, uint32_t count)
{
	return bsearch(address, sorted, count, sizeof(*sorted), compare);
}

/* Removes keys that are neither among the sorted VIPs nor the mux's own address. Returns 0 or the first -errno. */
static int take_out(int map, bool ipv4, const struct fl_address *sorted, uint32_t count, const struct fl_address *self)
{
	uint8_t key[16], next[16];
	bool more = !bpf_map_get_next_key(map, NULL, key);
	int first = 0;

	while (more) {
		struct fl_address address;

		if (ipv4)
			address = fl_address_from_ipv4(key);
		else
			memcpy(address.bytes, key, sizeof(address.bytes));
		more = !bpf_map_get_next_key(map, key, next); /* call before deleting: a deleted key has no next one */
		if (!fl_address_equal(&address, self) && !is_among(&address, sorted, count) &&
		    bpf_map_delete_elem(map, key) && !first)
			first = -errno;
		memcpy(key, next, sizeof(key));
	}
	return first;
}

int xdp_sync(int map, bool ipv4, const struct fl_address *vips, uint32_t count, const struct fl_address *self)
{
	struct fl_address *sorted = calloc(count ? count : 1, sizeof(*sorted));
	uint8_t one = XDP_VIP, own = XDP_SELF;
	int first;

	if (!sorted)
		return -ENOMEM;
	if (count)
		memcpy(sorted, vips, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare);
	first = take_out(map, ipv4, sorted, count, self); /* first, since new keys may need the room */
	for (uint32_t i = 0; i < count; i++)
		if (fl_address_is_ipv4(&vips[i]) == ipv4 &&
		    bpf_map_update_elem(map, vips[i].bytes + (ipv4 ? 12 : 0), &one, BPF_ANY) && !first)
			first = -errno;
	/* a VIP takes precedence, even if it is also the mux's own address */
	if (!fl_address_is_none(self) && !is_among(self, sorted, count) &&
	    bpf_map_update_elem(map, self->bytes + (ipv4 ? 12 : 0), &own, BPF_ANY) && !first)
		first = -errno;
	free(sorted);
	return first;
}
