// SPDX-License-Identifier: Apache-2.0
/**
 * What a change does to a service's image: pure functions of images and time, which know no store.
 */
package io.fairlead.controller.plan;
