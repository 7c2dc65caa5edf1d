// SPDX-License-Identifier: Apache-2.0
/** Drains of backends that end by themselves: orders, ends, progress, routes and verbs. */
package io.fairlead.controller.resources.drains;
