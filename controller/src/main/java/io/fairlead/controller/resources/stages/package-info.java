// SPDX-License-Identifier: Apache-2.0
/**
 * Changes of weights that take effect in steps: rules, the gate between steps, routes and verbs.
 */
package io.fairlead.controller.resources.stages;
