// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

/**
 * One controller's term as leader: {@code number} is the value of the epoch node, {@code version}
 * the version of that node, which every write of the leader checks.
 */
public record Epoch(long number, Version version) {}
