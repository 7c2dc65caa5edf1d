// SPDX-License-Identifier: Apache-2.0
/**
 * What all resources share: reads of one version of a service, and options and results of writes.
 */
package io.fairlead.controller.resources.plane;
