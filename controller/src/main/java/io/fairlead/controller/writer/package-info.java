// SPDX-License-Identifier: Apache-2.0
/** The control plane over ZooKeeper: one writer per service, reads, and who leads. */
package io.fairlead.controller.writer;
