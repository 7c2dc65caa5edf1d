// SPDX-License-Identifier: Apache-2.0
/** The stream of changes, as server-sent events. */
package io.fairlead.controller.resources.events;
