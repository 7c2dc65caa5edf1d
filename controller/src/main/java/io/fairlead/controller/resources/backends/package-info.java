// SPDX-License-Identifier: Apache-2.0
/** The backends of a service: changes of its pool and their rules, routes and verbs. */
package io.fairlead.controller.resources.backends;
