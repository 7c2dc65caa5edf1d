// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as the server side's configuration file, or as the values of its flags, one per line. A refusal has a
 * field, a value and what is allowed. Accepted values are in range, and their printed form parses to the same value.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../config.h"
#include "../text.h"
#include "refusals.h"

static void check_taken(struct config *config)
{
	static struct config again;
	char text[TEXT_LEN];

	require(config->program.port && config->program.quiet <= FL_SERVER_QUIET_MAX);
	require(config->peer_count <= FL_SERVER_PEERS_MAX);
	if (config_check(config))
		return;
	again = config_default;
	require(!config_set(&again, "address", config_self_text(&config->program, text)));
	require(fl_address_equal(&again.program.self, &config->program.self) &&
		fl_address_equal(&again.program.self6, &config->program.self6));
	for (unsigned i = 0; i < config->peer_count; i++) {
		const struct fl_peer *peer = &config->peers[i];

		require(peer->roles && !(peer->roles & ~(fl_u32)FL_PEER_ANY));
		again.peer_count = 0;
		require(!config_set(&again,
				    peer->roles == FL_PEER_MUX      ? "muxes"
				    : peer->roles == FL_PEER_SERVER ? "servers"
								    : "peers",
				    text_peer_print(&peer->prefix, text)));
		require(again.peer_count == 1 && !memcmp(&again.peers[0], peer, sizeof(*peer)));
	}
}

static void read_file(struct config *config, const fl_u8 *data, size_t size)
{
	static int file = -1;
	char path[32];

	if (file < 0)
		file = memfd_create("config", 0);
	require(file >= 0 && !ftruncate(file, 0) && pwrite(file, data, size, 0) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	if (!config_read_file(config, path))
		check_taken(config);
}

static void read_flags(struct config *config, const fl_u8 *data, size_t size)
{
	static const char *const flags[] = {"address", "port",  "quiet",   "ipip-service",
					    "peers",   "muxes", "servers", "flood-rate"};
	char *text = strndup((const char *)data, size), *rest = text, *line;
	bool taken = true;

	require(text != NULL);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]) && (line = strsep(&rest, "\n")); i++) {
		refusals = 0;
		if (config_set(config, flags[i], line)) {
			require(refusals == 1);
			taken = false;
		}
	}
	if (taken)
		check_taken(config);
	free(text);
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	static struct config config;

	if (!size)
		return 0;
	config_close(&config);
	config = config_default;
	if (data[0] == 'f')
		read_flags(&config, data + 1, size - 1);
	else
		read_file(&config, data, size);
	return 0;
}
