// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fairlead/notice.h>
#include <fairlead/list_tag.h>

#include "keys.h"
#include "refusal.h"
#include "text.h"

static const char allowed[] =
    "32 hex digits; lines `current HEX` and `next HEX`, whose first bytes differ in their last "
    "bit; or what `fairlead-server keys` writes";

static bool key_parse(const char *text, struct fl_siphash_key *key)
{
	fl_u8 bytes[16];
	size_t i;

	if (!text || strlen(text) != 32 || strspn(text, "0123456789abcdefABCDEF") != 32)
		return false;
	for (i = 0; i < sizeof(bytes); i++) {
		char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};

		bytes[i] = (fl_u8)strtoul(digits, NULL, 16);
	}
	*key = fl_siphash_key_load(bytes);
	explicit_bzero(bytes, sizeof(bytes));
	return true;
}

/* The lowest bit of its first byte: KEY of what it tags. */
static unsigned int key_bit(const struct fl_siphash_key *cluster)
{
	return cluster->k0 & 1;
}

static bool pair_parse(char **rest, struct fl_key_pair *pair)
{
	return key_parse(strsep(rest, " "), &pair->by_bit[0]) && key_parse(strsep(rest, " "), &pair->by_bit[1]) &&
	       !*rest;
}

static bool notice_add(struct keys_file *file, char *rest)
{
	struct keys_notice *notice = &file->notices[file->notice_count];
	const char *address = strsep(&rest, " ");
	unsigned int i;

	if (file->notice_count == KEYS_NOTICES_MAX || !address || !text_address_parse(address, &notice->address) ||
	    !pair_parse(&rest, &notice->keys))
		return false;
	for (i = 0; i < file->notice_count; i++)
		if (fl_address_equal(&file->notices[i].address, &notice->address))
			return false;
	file->notice_count++;
	return true;
}

static bool service_add(struct keys_file *file, char *rest)
{
	const char *id = strsep(&rest, " ");
	struct fl_service_keys *service;
	unsigned long number;

	if (!file->services)
		file->services = calloc(FL_SERVER_SERVICES, sizeof(*file->services));
	if (!file->services || file->service_count == FL_SERVER_SERVICES || !id ||
	    !text_number_parse(id, 1, FL_SERVER_SERVICES - 1, &number))
		return false;
	service = &file->services[file->service_count];
	service->service = number;
	file->service_count++;
	return pair_parse(&rest, &service->keys);
}

/* What the lines of a file with the cluster's keys say. */
struct cluster_keys {
	struct fl_siphash_key current, next;
	bool has_current, has_next;
};

static bool line_take(struct keys_file *file, struct cluster_keys *cluster, char *line)
{
	char *rest = line, *word = strsep(&rest, " ");

	if (!strcmp(word, "notice"))
		return notice_add(file, rest);
	if (!strcmp(word, "service"))
		return service_add(file, rest);
	if (!strcmp(word, "next")) {
		if (cluster->has_next || !key_parse(rest, &cluster->next))
			return false;
		return cluster->has_next = true;
	}
	if (cluster->has_current || !key_parse(strcmp(word, "current") ? line : rest, &cluster->current))
		return false;
	return cluster->has_current = true;
}

static int compare(const void *a, const void *b)
{
	fl_u64 left = ((const struct fl_service_keys *)a)->service,
	       right = ((const struct fl_service_keys *)b)->service;

	return (left > right) - (left < right);
}

static bool services_sort(struct keys_file *file)
{
	unsigned int i;

	if (file->service_count)
		qsort(file->services, file->service_count, sizeof(*file->services), compare);
	for (i = 1; i < file->service_count; i++)
		if (file->services[i].service == file->services[i - 1].service)
			return false;
	return true;
}

static bool cluster_take(struct keys_file *file, const struct cluster_keys *cluster)
{
	unsigned int bit = key_bit(&cluster->current);

	file->is_cluster = true;
	file->cluster.by_bit[0] = file->cluster.by_bit[1] = cluster->current;
	if (cluster->has_next)
		file->cluster.by_bit[!bit] = cluster->next;
	return !cluster->has_next || bit != key_bit(&cluster->next);
}

static bool text_take(struct keys_file *file, char *text)
{
	struct cluster_keys cluster = {0};
	char *rest = text, *line;
	bool is_right = true, is_derived;

	while (is_right && (line = strsep(&rest, "\n")))
		is_right = (!*line && !rest) || line_take(file, &cluster, line);
	is_derived = file->notice_count || file->service_count;
	is_right = is_right && is_derived != cluster.has_current && !(is_derived && cluster.has_next) &&
		   (is_derived ? services_sort(file) : cluster_take(file, &cluster));
	explicit_bzero(&cluster, sizeof(cluster));
	return is_right;
}

/* The mode of the open file is checked, as the name may refer to another file by then. */
char *keys_secret_read(const char *field, const char *path, const struct keys_secret *secret, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	struct stat stat;
	ssize_t got = 0;

	*len = 0;
	if (fd < 0 || fstat(fd, &stat) || !S_ISREG(stat.st_mode)) {
		refusal_print(field, path, "a file that can be read");
	} else if (stat.st_mode & ~secret->mode & 077) {
		fprintf(stderr, "fairlead-server: %s: %s: mode '%04o' is not allowed; allowed: %04o or narrower\n",
			field, path, stat.st_mode & 07777, secret->mode);
	} else if (stat.st_size > secret->max) {
		refusal_print(field, path, secret->allowed);
	} else {
		text = calloc(1, (size_t)stat.st_size + 1);
		while (text && *len < (size_t)stat.st_size &&
		       (got = read(fd, text + *len, (size_t)stat.st_size - *len)) > 0)
			*len += (size_t)got;
	}
	if (fd >= 0)
		close(fd);
	return text;
}

int keys_file_read(struct keys_file *file, const char *field, const char *path)
{
	static const struct keys_secret secret = {0600, KEYS_FILE_MAX, "a file of at most 8 MiB"};
	bool is_right;
	size_t len;
	char *text = keys_secret_read(field, path, &secret, &len);

	memset(file, 0, sizeof(*file));
	if (!text)
		return -EINVAL;
	is_right = strlen(text) == len && text_take(file, text);
	explicit_bzero(text, len);
	free(text);
	if (is_right)
		return 0;
	keys_file_close(file);
	return refusal_print(field, path, allowed);
}

static void services_free(struct fl_service_keys *services, unsigned int count)
{
	if (services)
		explicit_bzero(services, count * sizeof(*services));
	free(services);
}

void keys_file_close(struct keys_file *file)
{
	services_free(file->services, file->service_count);
	explicit_bzero(file, sizeof(*file));
}

static struct fl_key_pair notice_keys(const struct fl_key_pair *cluster, const struct fl_address *address)
{
	return (struct fl_key_pair){
	    {fl_notice_key(&cluster->by_bit[0], address), fl_notice_key(&cluster->by_bit[1], address)}};
}

static struct fl_service_keys service_keys(const struct fl_key_pair *cluster, fl_u16 service)
{
	return (struct fl_service_keys){
	    service, {{fl_list_key(&cluster->by_bit[0], service), fl_list_key(&cluster->by_bit[1], service)}}};
}

static int notice_find(const struct keys_file *file, const char *field, const struct fl_address *self,
		       struct fl_key_pair *keys)
{
	char text[TEXT_LEN];
	unsigned int i;

	for (i = 0; i < file->notice_count; i++)
		if (fl_address_equal(&file->notices[i].address, self)) {
			*keys = file->notices[i].keys;
			return 0;
		}
	return refusal_print(field, text_address_print(self, text),
			     "only addresses with a line `notice` in the file: make it by `fairlead-server keys`");
}

int keys_make(const struct keys_file *file, const char *field, const struct fl_address self[2],
	      struct fl_server_keys *keys)
{
	unsigned int i;
	int err = 0;

	memset(keys, 0, sizeof(*keys));
	for (i = 0; !err && i < 2; i++) {
		if (fl_address_is_none(&self[i]))
			continue;
		if (file->is_cluster)
			keys->notice[i] = notice_keys(&file->cluster, &self[i]);
		else
			err = notice_find(file, field, &self[i], &keys->notice[i]);
	}
	if (err)
		return err;
	keys->count = file->is_cluster ? FL_SERVER_SERVICES : file->service_count;
	keys->services = calloc(keys->count ? keys->count : 1, sizeof(*keys->services));
	if (!keys->services)
		return -ENOMEM;
	for (i = 0; i < keys->count; i++)
		keys->services[i] = file->is_cluster ? service_keys(&file->cluster, (fl_u16)i) : file->services[i];
	return 0;
}

static void key_print(FILE *out, const struct fl_siphash_key *key)
{
	int i;

	fputc(' ', out);
	for (i = 0; i < 16; i++)
		fprintf(out, "%02x", (unsigned int)((i < 8 ? key->k0 : key->k1) >> i % 8 * 8 & 0xff));
}

static void pair_print(FILE *out, const struct fl_key_pair *pair)
{
	key_print(out, &pair->by_bit[0]);
	key_print(out, &pair->by_bit[1]);
	fputc('\n', out);
}

bool keys_write(FILE *out, const struct fl_key_pair *cluster, const struct fl_address *addresses, unsigned int count,
		const fl_u16 *services, unsigned int service_count)
{
	char text[TEXT_LEN];
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct fl_key_pair pair = notice_keys(cluster, &addresses[i]);

		fprintf(out, "notice %s", text_address_print(&addresses[i], text));
		pair_print(out, &pair);
	}
	for (i = 0; i < service_count; i++) {
		struct fl_service_keys keys = service_keys(cluster, services[i]);

		fprintf(out, "service %u", services[i]);
		pair_print(out, &keys.keys);
	}
	return !fflush(out) && !ferror(out);
}
