// SPDX-License-Identifier: Apache-2.0
/** Whole services: their specification and its rules, routes and verbs. */
package io.fairlead.controller.resources.services;
