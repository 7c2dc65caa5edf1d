// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "arguments.h"
#include "form.h"
#include "refusal.h"
#include "text.h"

static int fail(const struct genetlink *link, int err)
{
	fprintf(stderr, "fairlead-server: %s\n", link->error);
	return err;
}

/* Names the flag that the kernel's error is about. */
static int attach_fail(const struct genetlink *link, const struct config *config, int err)
{
	char text[TEXT_LEN];

	config_self_text(&config->program, text);
	if (err == -EADDRNOTAVAIL)
		refusal_print("--address", text, "addresses of this host: see ip address");
	else if (err == -EADDRINUSE)
		refusal_print("--address", text, "addresses whose UDP port is not in use: see ss -lun");
	else
		fail(link, err);
	return err;
}

int form_module_set(struct genetlink *link, const struct config *config)
{
	return module_set(link, &config->program, config->peers, config->peer_count,
			  config->program.tagged ? &config->keys : NULL);
}

/* Closes the link, after printing what is wrong. */
static int end(struct genetlink *link, int err)
{
	if (err == -ENOENT && link->family)
		fprintf(stderr, "fairlead-server: no server is attached in this network namespace\n");
	else if (err)
		fail(link, err);
	genetlink_close(link);
	return err;
}

static int attach(const struct arguments *arguments, struct config *config)
{
	struct genetlink link;
	int err = module_open(&link);

	(void)arguments;
	if (err)
		return end(&link, err);
	err = form_module_set(&link, config);
	if (err)
		attach_fail(&link, config, err);
	genetlink_close(&link);
	return err;
}

static int detach(const struct arguments *arguments)
{
	struct genetlink link;
	int err = module_open(&link);

	(void)arguments;
	if (!err)
		err = module_detach(&link);
	return end(&link, err);
}

static struct document_peers peers_list(const struct module_state *state)
{
	struct document_peers peers = {json_array(), json_array(), json_array()};
	unsigned int i;

	for (i = 0; i < state->peer_count; i++)
		document_peers_add(&peers, &state->peers[i]);
	return peers;
}

static void service_add(void *services, fl_u16 service, fl_u32 generation)
{
	document_service_add(services, service, generation);
}

/* Reads the loaded module's version; returns text. */
static const char *version_read(char *text, size_t size)
{
	FILE *file = fopen("/sys/module/fairlead/version", "r");

	if (!file || !fgets(text, (int)size, file))
		snprintf(text, size, "unknown");
	if (file)
		fclose(file);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static int loads_add(struct genetlink *link, json_t *services)
{
	const char *id;
	json_t *service;

	json_object_foreach(services, id, service)
	{
		fl_u16 number = (fl_u16)atoi(id);
		struct module_load load;
		int err = module_get_load(link, number, &load);

		if (err)
			return err;
		document_load_add(services, number, &load.setting, &load.state);
	}
	return 0;
}

static json_t *document_read(const struct module_state *state, json_t *services)
{
	char version[32];
	struct document_parts parts = {
	    .form = "module",
	    .version = version_read(version, sizeof(version)),
	    .config = document_config(&state->config, peers_list(state), "module"),
	    .counters = document_counters(state->counters),
	    .services = services,
	    .quiet_left = state->quiet_left,
	    .flows = state->config.mangle ? (json_int_t)state->flows : -1,
	};

	return document_make(&parts);
}

static int show(const struct arguments *arguments, json_t **document)
{
	static struct module_state state;
	json_t *services = json_object();
	struct genetlink link;
	int err = module_open(&link);

	(void)arguments;
	if (!err)
		err = module_get(&link, &state);
	if (!err)
		err = module_services(&link, service_add, services);
	if (!err)
		err = loads_add(&link, services);
	if (err)
		json_decref(services);
	else
		*document = document_read(&state, services);
	return end(&link, err);
}

struct forgotten {
	fl_u16 service;
	fl_u32 generation;
};

static void forgotten_service(void *state, fl_u16 service, fl_u32 generation)
{
	struct forgotten *forgotten = state;

	if (service == forgotten->service)
		forgotten->generation = generation;
}

static int forget(const struct arguments *arguments, fl_u32 *generation)
{
	struct forgotten forgotten = {.service = (fl_u16)arguments->service};
	struct genetlink link;
	int err = module_open(&link);

	if (!err)
		err = module_services(&link, forgotten_service, &forgotten);
	if (!err)
		err = module_forget(&link, (fl_u16)arguments->service);
	*generation = forgotten.generation;
	return end(&link, err);
}

/* The module serves all interfaces of the network namespace. */
static int check_arguments(const struct arguments *arguments)
{
	if (arguments->interface)
		return refusal_print("--interface", arguments->interface,
				     "none with --form module, which serves the whole network namespace");
	return arguments->mode == PROGRAM_AUTO ? 0 : refusal_print("--mode", "given", "none with --form module");
}

static int check_config(const struct config *config)
{
	(void)config; /* it takes every one */
	return 0;
}

const struct form form_module = {
    .word = "module",
    .check_arguments = check_arguments,
    .check_config = check_config,
    .attach = attach,
    .detach = detach,
    .show = show,
    .forget = forget,
    .load = &load_module,
};
