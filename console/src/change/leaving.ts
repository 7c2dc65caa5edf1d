// SPDX-License-Identifier: Apache-2.0
//
// The live connections in the buckets that backends give, as the API counts them, in words.
import type { Leaving } from "../../generated/schema";
import { moment, plural, short, whole } from "../parts/figures";

/** All that are known; undefined if none are. */
export function known(leaving: Leaving[]): string | undefined {
  const counted = leaving.filter((each) => each.connections !== undefined);
  if (!counted.length) return undefined;
  const sum = counted.reduce((all, each) => all + each.connections!, 0);
  return `${counted.some((each) => each.estimated) ? "≈ " : ""}${short(sum)}`;
}

/** What the number of `known` leaves open. */
export function unknown(leaving: Leaving[]): string {
  const missing = leaving.filter((each) => each.connections === undefined).length;
  if (!leaving.length) return "no backend gives any";
  if (missing === leaving.length) return "no agent reports";
  return missing ? `and unknown ones of ${plural(missing, "backend")}` : "as agents report them";
}

export function connections(each: Leaving): string {
  if (each.connections === undefined) return `unknown: ${each.unknown}`;
  return `${each.estimated ? "about " : ""}${whole(each.connections)}`;
}

/** What becomes of them. */
export function fate(each: Leaving): string {
  return each.fate === "broken" ? "broken" : `${each.fate}, broken at ${moment(each.until)} if still open`;
}
