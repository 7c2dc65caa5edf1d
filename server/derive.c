// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "refusal.h"
#include "text.h"

/* What the command line names. */
struct names {
	struct fl_address addresses[KEYS_NOTICES_MAX];
	fl_u16 services[FL_SERVER_SERVICES];
	unsigned int address_count, service_count;
};

static bool address_take(struct names *names, const char *text)
{
	struct fl_address *address = &names->addresses[names->address_count];
	unsigned int i;

	if (names->address_count == KEYS_NOTICES_MAX || !text_address_parse(text, address) ||
	    fl_address_is_none(address))
		return false;
	for (i = 0; i < names->address_count; i++)
		if (fl_address_equal(&names->addresses[i], address))
			return false;
	names->address_count++;
	return true;
}

static bool service_take(struct names *names, const char *text)
{
	unsigned long id;
	unsigned int i;

	if (!text_number_parse(text, 1, FL_SERVER_SERVICES - 1, &id))
		return false;
	for (i = 0; i < names->service_count; i++)
		if (names->services[i] == id)
			return false;
	names->services[names->service_count++] = (fl_u16)id;
	return true;
}

/* Each of a list that commas separate. */
static bool list_take(struct names *names, const char *list, bool (*take)(struct names *, const char *))
{
	char *copy = strdup(list ? list : ""), *rest = copy, *one;
	bool is_right = copy && *copy;

	while (is_right && (one = strsep(&rest, ",")))
		is_right = take(names, one);
	free(copy);
	return is_right;
}

static int print(const struct names *names, const struct keys_file *cluster, const char *path)
{
	if (!cluster->is_cluster)
		return refusal_print("--tag-key", path, "a file with the cluster's key");
	if (keys_write(stdout, &cluster->cluster, names->addresses, names->address_count, names->services,
		       names->service_count))
		return 0;
	fprintf(stderr, "fairlead-server: cannot write the keys: %s\n", strerror(errno));
	return -EIO;
}

int derive_print(const struct arguments *arguments)
{
	static struct names names;
	struct keys_file cluster;
	int err;

	if (!arguments->tag_key)
		return refusal_print("--tag-key", "", "a file with the cluster's key");
	if (!list_take(&names, arguments->address, address_take))
		return refusal_print("--address", arguments->address ? arguments->address : "",
				     "1 to 16 addresses of a server, each once, such as 10.1.0.21,2001:db8:1::21");
	if (!list_take(&names, arguments->services, service_take))
		return refusal_print("--services", arguments->services ? arguments->services : "",
				     "ids of services from 1 to 65535, each once, such as 1,7");
	err = keys_file_read(&cluster, "--tag-key", arguments->tag_key);
	if (err)
		return err;
	err = print(&names, &cluster, arguments->tag_key);
	keys_file_close(&cluster);
	return err;
}
