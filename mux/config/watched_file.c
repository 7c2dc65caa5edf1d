/* SPDX-License-Identifier: Apache-2.0 */
#include "config/watched_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool watched_file_has_changed(struct watched_file *file)
{
	struct stat now, *seen = &file->seen;
	bool is_same;

	if (stat(file->path, &now))
		memset(&now, 0, sizeof(now));
	is_same = now.st_dev == seen->st_dev && now.st_ino == seen->st_ino && now.st_size == seen->st_size &&
		  is_same_time(&now.st_mtim, &seen->st_mtim) && is_same_time(&now.st_ctim, &seen->st_ctim);
	*seen = now;
	return !is_same;
}

char *watched_file_read(const struct watched_file *file, size_t max, size_t *len, struct reason *why)
{
	FILE *in = fopen(file->path, "re");
	struct stat stat;
	char *text = NULL;

	/* the mode of the open file, not of its name, which may be another file's by then */
	if (!in || fstat(fileno(in), &stat) || !S_ISREG(stat.st_mode)) {
		reason_set(why, -EINVAL, "%s: '%.160s' is not allowed: %s; allowed: a file that can be read",
			   file->option, file->path, in ? "no regular file" : strerror(errno));
	} else if (stat.st_mode & file->forbidden) {
		reason_set(why, -EINVAL, "%s: '%.160s' has mode %04o; allowed: %04o or narrower", file->option,
			   file->path, (unsigned)stat.st_mode & 07777, 0666 & ~file->forbidden);
	} else {
		text = malloc(max + 2);
		*len = text ? fread(text, 1, max + 1, in) : 0;
		if (!*len || *len > max) {
			if (!text)
				reason_set(why, -ENOMEM, "%s: no memory", file->option);
			else if (file->allowed)
				watched_file_refuse(file, why);
			else
				reason_set(why, -EINVAL, "%s: '%.160s' is not allowed; allowed: a file of 1..%zu bytes",
					   file->option, file->path, max);
			watched_file_free(text, text ? *len : 0);
			text = NULL;
		} else {
			text[*len] = 0;
		}
	}
	if (in)
		fclose(in);
	return text;
}

int watched_file_refuse(const struct watched_file *file, struct reason *why)
{
	return reason_set(why, -EINVAL, "%s: '%.160s' is not allowed; allowed: %s", file->option, file->path,
			  file->allowed);
}

char *watched_file_line(char **text)
{
	char *line;

	while ((line = strsep(text, "\n"))) {
		size_t len = strlen(line);

		if (len && line[len - 1] == '\r')
			line[--len] = 0;
		if (len && *line != '#')
			return line;
	}
	return NULL;
}

void watched_file_free(char *text, size_t len)
{
	if (text)
		explicit_bzero(text, len);
	free(text);
}
