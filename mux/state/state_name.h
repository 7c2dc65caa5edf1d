/* SPDX-License-Identifier: Apache-2.0 */
/* The names of a service's files in the folder of the state (state_file.h). Services' names have no dots. */
#ifndef FAIRLEAD_MUX_STATE_NAME_H
#define FAIRLEAD_MUX_STATE_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "config/service_config.h"
#include "state/state_folder.h"

/* NAME.service */
void state_name_of_ring(const char *service, char out[STATE_NAME_MAX + 1]);
/* NAME.GENERATION-CHECKSUM.arrays */
void state_name_of_arrays(const char *service, uint32_t generation, uint32_t checksum, char out[STATE_NAME_MAX + 1]);
/* NAME.arrays: arrays whose checksum is not known yet. */
void state_name_of_unfinished_arrays(const char *service, char out[STATE_NAME_MAX + 1]);

/* The service that a file belongs to. False: it is not one with its ring, or with arrays. */
bool state_name_is_ring(const char *name, char service[SERVICE_NAME_MAX + 1]);
bool state_name_is_arrays(const char *name, char service[SERVICE_NAME_MAX + 1]);

#endif
