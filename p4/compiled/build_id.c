/* SPDX-License-Identifier: Apache-2.0 */
/* The build id that a linker has put into DPDK's pipeline library: it differs as soon as any of its code does. */
#include "build_id.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static const char library[] = "librte_pipeline.so";

static void copy(const ElfW(Nhdr) * note, char out[BUILD_ID_MAX])
{
	const uint8_t *id = (const uint8_t *)(note + 1) + ((note->n_namesz + 3) & ~3U);

	for (unsigned i = 0; i < note->n_descsz && 2 * i + 2 < BUILD_ID_MAX; i++)
		sprintf(out + (size_t)2 * i, "%02x", id[i]);
}

static int look(struct dl_phdr_info *object, size_t size, void *out)
{
	(void)size;
	if (!strstr(object->dlpi_name, library))
		return 0;
	for (unsigned i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];
		uintptr_t at = object->dlpi_addr + header->p_vaddr, end = at + header->p_memsz;

		while (header->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(note + 1, "GNU", 4))
				copy(note, out);
			at += sizeof(*note) + ((note->n_namesz + 3) & ~3U) + ((note->n_descsz + 3) & ~3U);
		}
	}
	return 1;
}

void build_id_read(char out[BUILD_ID_MAX])
{
	out[0] = '\0';
	dl_iterate_phdr(look, out);
}
