// SPDX-License-Identifier: Apache-2.0
/** Backups of the cluster; package repository has their format and the restore. */
package io.fairlead.controller.resources.backup;
