// SPDX-License-Identifier: Apache-2.0
/**
 * The one writer of a service while its controller leads: events one after another, what is
 * committed, and what the leader does by itself for the service. It knows no terms and no
 * elections.
 *
 * <pre>
 *   ServiceWriter       requests and events, each a plan on the image of the one before
 *     EventQueue        events of one service, and deferred ones at their deadlines (EventTimer)
 *     ServiceLedger     commits plans: ClockCheck dates them, Addresses claims, Notes records
 *     Work              releases, transitions, upkeep, default hold: when due, and what to commit
 *     SnapshotSteps, ArraysSteps   what is written aside
 * </pre>
 */
package io.fairlead.controller.service;
