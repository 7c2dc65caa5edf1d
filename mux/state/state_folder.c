/* SPDX-License-Identifier: Apache-2.0 */
#include "state/state_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char lock_name[] = "lock", unfinished[] = ".new";

struct state_folder {
	int fd;
	int lock;
};

static bool is_unfinished(const char *name)
{
	size_t len = strlen(name), end = sizeof(unfinished) - 1;

	return len > end && !strcmp(name + len - end, unfinished);
}

static int is_file(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && strcmp(entry->d_name, lock_name);
}

/* Calls fn with the name of each file except the lock, unfinished ones or the others. Negative errno. */
static int walk(const struct state_folder *folder, bool unfinished_ones, void (*fn)(void *context, const char *name),
		void *context)
{
	struct dirent **found;
	int count = scandirat(folder->fd, ".", &found, is_file, NULL), error = count < 0 ? -errno : 0;

	for (int i = 0; i < count; i++) {
		if (is_unfinished(found[i]->d_name) == unfinished_ones)
			fn(context, found[i]->d_name);
		free(found[i]);
	}
	if (!error)
		free(found);
	return error;
}

static void remove_unfinished(void *context, const char *name)
{
	const struct state_folder *folder = context;

	unlinkat(folder->fd, name, 0);
}

struct state_folder *state_folder_open(const char *path, struct reason *why)
{
	struct state_folder *folder = calloc(1, sizeof(*folder));
	int error;

	if (!folder) {
		errno = -reason_set(why, -ENOMEM, "--state-dir: '%s': no memory", path);
		return NULL;
	}
	folder->lock = -1;
	folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder->fd >= 0)
		folder->lock = openat(folder->fd, lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (folder->lock < 0)
		error = reason_set(why, -errno, "--state-dir: '%s': %s; allowed: a folder that the mux may write to",
				   path, strerror(errno));
	else if (flock(folder->lock, LOCK_EX | LOCK_NB))
		error = reason_set(why, -errno, "--state-dir: '%s' belongs to another mux that runs; allowed: one each",
				   path);
	else
		error = 0;
	if (error) {
		state_folder_close(folder);
		errno = -error;
		return NULL;
	}
	walk(folder, true, remove_unfinished, folder);
	return folder;
}

void state_folder_close(struct state_folder *folder)
{
	if (!folder)
		return;
	if (folder->lock >= 0)
		close(folder->lock);
	if (folder->fd >= 0)
		close(folder->fd);
	free(folder);
}

int state_folder_list(const struct state_folder *folder, void (*fn)(void *context, const char *name), void *context)
{
	return walk(folder, false, fn, context);
}

int state_folder_read(const struct state_folder *folder, const char *name, size_t max, uint8_t **data, size_t *len)
{
	int fd = openat(folder->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), error = 0;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	struct stat stat;

	*data = NULL;
	if (!file || fstat(fd, &stat))
		error = -errno;
	else if (!S_ISREG(stat.st_mode))
		error = -EINVAL;
	else if ((uint64_t)stat.st_size > max)
		error = -EFBIG;
	else if (!(*data = malloc((size_t)stat.st_size + 1)))
		error = -ENOMEM;
	else if ((*len = fread(*data, 1, (size_t)stat.st_size, file)) < (size_t)stat.st_size && ferror(file))
		error = -errno; /* without an error it is being cut, and shorter than it was */
	if (error) {
		free(*data);
		*data = NULL;
	}
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	return error;
}

bool state_folder_has(const struct state_folder *folder, const char *name, uint64_t len)
{
	struct stat stat;

	return !fstatat(folder->fd, name, &stat, AT_SYMLINK_NOFOLLOW) && S_ISREG(stat.st_mode) &&
	       (uint64_t)stat.st_size == len;
}

static void name_unfinished(const struct state_writing *writing, char name[STATE_NAME_MAX + sizeof(unfinished)])
{
	snprintf(name, STATE_NAME_MAX + sizeof(unfinished), "%s%s", writing->name, unfinished);
}

int state_writing_begin(struct state_writing *writing, const struct state_folder *folder, const char *name)
{
	char path[STATE_NAME_MAX + sizeof(unfinished)];
	int fd, error;

	*writing = (struct state_writing){.folder = folder};
	if (strlen(name) > STATE_NAME_MAX)
		return -ENAMETOOLONG;
	strcpy(writing->name, name);
	name_unfinished(writing, path);
	fd = openat(folder->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	writing->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (writing->file)
		return 0;
	error = -errno;
	if (fd >= 0)
		close(fd);
	return error;
}

int state_writing_append(struct state_writing *writing, const void *bytes, size_t len)
{
	return len && fwrite(bytes, 1, len, writing->file) != len ? -errno : 0;
}

int state_writing_head(struct state_writing *writing, const void *bytes, size_t len)
{
	return fseek(writing->file, 0, SEEK_SET) ? -errno : state_writing_append(writing, bytes, len);
}

static int give_up(struct state_writing *writing, int error)
{
	char path[STATE_NAME_MAX + sizeof(unfinished)];

	name_unfinished(writing, path);
	if (writing->file)
		fclose(writing->file);
	unlinkat(writing->folder->fd, path, 0);
	*writing = (struct state_writing){0};
	return error;
}

void state_writing_abandon(struct state_writing *writing)
{
	if (writing->folder)
		give_up(writing, 0);
}

int state_writing_commit(struct state_writing *writing, const char *name)
{
	const struct state_folder *folder = writing->folder;
	char path[STATE_NAME_MAX + sizeof(unfinished)];
	FILE *file = writing->file;

	name_unfinished(writing, path);
	if (fflush(file) || fsync(fileno(file)))
		return give_up(writing, -errno);
	writing->file = NULL;
	if (fclose(file))
		return give_up(writing, -errno);
	if (renameat(folder->fd, path, folder->fd, name))
		return give_up(writing, -errno);
	*writing = (struct state_writing){0};
	return fsync(folder->fd) ? -errno : 0;
}

int state_folder_remove(const struct state_folder *folder, const char *name)
{
	if (unlinkat(folder->fd, name, 0))
		return errno == ENOENT ? 0 : -errno;
	return fsync(folder->fd) ? -errno : 0;
}

static const char ring_end[] = ".service", arrays_end[] = ".arrays";

void state_name_of_ring(const char *service, char out[STATE_NAME_MAX + 1])
{
	snprintf(out, STATE_NAME_MAX + 1, "%s%s", service, ring_end);
}

void state_name_of_arrays(const char *service, uint32_t generation, uint32_t checksum, char out[STATE_NAME_MAX + 1])
{
	snprintf(out, STATE_NAME_MAX + 1, "%s.%" PRIu32 "-%08" PRIx32 "%s", service, generation, checksum, arrays_end);
}

void state_name_of_unfinished_arrays(const char *service, char out[STATE_NAME_MAX + 1])
{
	snprintf(out, STATE_NAME_MAX + 1, "%s%s", service, arrays_end);
}

/* The first len characters of a name, if they can be a service's. */
static bool take_service(const char *name, size_t len, char service[SERVICE_NAME_MAX + 1])
{
	if (!len || len > SERVICE_NAME_MAX)
		return false;
	memcpy(service, name, len);
	service[len] = 0;
	return true;
}

static bool has_end(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len > end_len && !strcmp(name + len - end_len, end);
}

bool state_name_is_ring(const char *name, char service[SERVICE_NAME_MAX + 1])
{
	return has_end(name, ring_end) && take_service(name, strlen(name) - strlen(ring_end), service);
}

bool state_name_is_arrays(const char *name, char service[SERVICE_NAME_MAX + 1])
{
	return has_end(name, arrays_end) && take_service(name, strcspn(name, "."), service);
}
