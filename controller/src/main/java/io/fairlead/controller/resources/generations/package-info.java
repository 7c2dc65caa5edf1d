// SPDX-License-Identifier: Apache-2.0
/** What the latest generations of a service changed. */
package io.fairlead.controller.resources.generations;
