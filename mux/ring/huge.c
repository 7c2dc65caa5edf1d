/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/huge.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <sanitizer/asan_interface.h> /* its macros do nothing without AddressSanitizer */

enum { LINE = 64, SMALL_MAX = HUGE_PAGE / 2 };

/* One huge page: this head, then objects of one size. The head takes a cache line. */
struct chunk {
	struct chunk *next; /* in the list of all */
	size_t size;        /* of an object */
	uint32_t used, room;
	uint32_t fresh; /* objects from this one on were never used */
	void **unused;  /* a list through the objects that are free again */
} __attribute__((aligned(LINE)));

_Static_assert(sizeof(struct chunk) == LINE, "objects begin at a cache line");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct chunk *chunks;
static size_t taken; /* atomic; bytes */

static size_t object_size(size_t bytes)
{
	size_t lines = (bytes + LINE - 1) / LINE;

	return (lines | 1) * LINE;
}

static size_t pages_size(size_t bytes)
{
	return (bytes + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
}

static void *pages_new(size_t bytes)
{
	void *memory = aligned_alloc(HUGE_PAGE, bytes);

	if (!memory)
		return NULL;
	madvise(memory, bytes, MADV_HUGEPAGE); /* if the kernel can't, small pages do */
	return memory;
}

static struct chunk *chunk_new(size_t size)
{
	struct chunk *chunk = pages_new(HUGE_PAGE);

	if (!chunk)
		return NULL;
	*chunk = (struct chunk){.next = chunks, .size = size, .room = (uint32_t)((HUGE_PAGE - LINE) / size)};
	chunks = chunk;
	return chunk;
}

static void *take(struct chunk *chunk)
{
	void *object = chunk->unused;

	if (object)
		chunk->unused = *(void **)object;
	else
		object = (uint8_t *)chunk + LINE + chunk->fresh++ * chunk->size;
	ASAN_UNPOISON_MEMORY_REGION(object, chunk->size);
	chunk->used++;
	return object;
}

static void *small_alloc(size_t size)
{
	struct chunk *chunk;
	void *object;

	pthread_mutex_lock(&lock);
	for (chunk = chunks; chunk && (chunk->size != size || chunk->used == chunk->room);)
		chunk = chunk->next;
	if (!chunk)
		chunk = chunk_new(size);
	object = chunk ? take(chunk) : NULL;
	pthread_mutex_unlock(&lock);
	return object;
}

static void chunk_free(struct chunk *chunk)
{
	struct chunk **at = &chunks;

	while (*at != chunk)
		at = &(*at)->next;
	*at = chunk->next;
	ASAN_UNPOISON_MEMORY_REGION(chunk, HUGE_PAGE);
	free(chunk);
}

void *huge_alloc(size_t bytes)
{
	void *memory = bytes > SMALL_MAX ? pages_new(pages_size(bytes)) : small_alloc(object_size(bytes));

	if (!memory)
		return NULL;
	__atomic_add_fetch(&taken, bytes, __ATOMIC_RELAXED);
	return memset(memory, 0, bytes);
}

void huge_free(void *memory, size_t bytes)
{
	struct chunk *chunk;

	if (!memory)
		return;
	__atomic_sub_fetch(&taken, bytes, __ATOMIC_RELAXED);
	if (bytes > SMALL_MAX) {
		free(memory);
		return;
	}
	chunk = (struct chunk *)((uintptr_t)memory & ~(uintptr_t)(HUGE_PAGE - 1));
	pthread_mutex_lock(&lock);
	*(void **)memory = chunk->unused;
	chunk->unused = memory;
	ASAN_POISON_MEMORY_REGION((uint8_t *)memory + sizeof(void *), chunk->size - sizeof(void *));
	if (!--chunk->used)
		chunk_free(chunk);
	pthread_mutex_unlock(&lock);
}

size_t huge_bytes(void)
{
	return __atomic_load_n(&taken, __ATOMIC_RELAXED);
}
