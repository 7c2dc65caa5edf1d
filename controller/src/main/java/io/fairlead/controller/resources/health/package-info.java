// SPDX-License-Identifier: Apache-2.0
/** The health of backends: what probes find, and which backends go out of service for it. */
package io.fairlead.controller.resources.health;
