// SPDX-License-Identifier: Apache-2.0
/**
 * Steering method {@code othello}: from the known connections of a service to the arrays of its
 * muxes (protocol/README.md §12). Data structures alone: no input or output, no threads, no clock.
 *
 * <ul>
 *   <li>{@link io.fairlead.controller.core.steering.othello.OthelloMap}: the known connections.
 *   <li>{@link io.fairlead.controller.core.steering.othello.Claims}: what servers report of theirs.
 *   <li>{@link io.fairlead.controller.core.steering.othello.Pins}: codes of those that several
 *       claim.
 *   <li>{@link io.fairlead.controller.core.steering.othello.OthelloArrays}: the arrays of a
 *       generation.
 *   <li>{@link io.fairlead.controller.core.steering.othello.NextArrays}: the next ones, from map,
 *       ring and the arrays before.
 *   <li>{@link io.fairlead.controller.core.steering.othello.ArraysCodec}: arrays as bytes.
 * </ul>
 *
 * <p>A service's map has one owner, a thread of its own. Its {@code rebuild} and {@link
 * io.fairlead.controller.core.steering.othello.NextArrays} take up to seconds with millions of
 * connections, and reports wait meanwhile. A commit never waits: it takes the finished bytes.
 * Arrays are immutable and may be read by any thread.
 */
package io.fairlead.controller.core.steering.othello;
