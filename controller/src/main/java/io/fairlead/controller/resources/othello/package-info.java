// SPDX-License-Identifier: Apache-2.0
/**
 * The leader's side of steering method {@code othello}: which connections servers report, and when
 * new arrays are committed. Soft state of the leader; a new one asks for all connections again.
 */
package io.fairlead.controller.resources.othello;
