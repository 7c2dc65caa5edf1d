// SPDX-License-Identifier: Apache-2.0
/* Any bytes as a file of keys. What is taken makes keys, or names an address that it lacks; services are in order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../config.h"
#include "refusals.h"

static void check_made(const struct keys_file *file)
{
	const struct fl_address self[2] = {file->notice_count ? file->notices[0].address
							      : fl_address_from_ipv4((const fl_u8[4]){10, 1, 0, 21})};
	struct fl_server_keys keys;
	fl_u32 i;

	refusals = 0;
	if (keys_make(file, "field", self, &keys)) {
		require(refusals == 1 && !file->is_cluster && !file->notice_count);
		return;
	}
	require(keys.count == (file->is_cluster ? FL_SERVER_SERVICES : file->service_count));
	for (i = 1; i < keys.count; i++)
		require(keys.services[i - 1].service < keys.services[i].service);
	free(keys.services);
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	static int fd = -1;
	struct keys_file file;
	char path[32];

	if (fd < 0)
		fd = memfd_create("keys", 0);
	require(fd >= 0 && !fchmod(fd, 0600) && !ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	refusals = 0;
	if (keys_file_read(&file, "field", path)) {
		require(refusals == 1);
		return 0;
	}
	require(file.notice_count <= KEYS_NOTICES_MAX && file.service_count < FL_SERVER_SERVICES);
	require(file.is_cluster != (file.notice_count || file.service_count));
	check_made(&file);
	keys_file_close(&file);
	return 0;
}
