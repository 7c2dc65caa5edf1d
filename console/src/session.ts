// SPDX-License-Identifier: Apache-2.0
//
// The caller's token. It is in memory, and in the session storage of this tab until it is closed or logged out; never in a
// URL, a cookie or the local storage.
import { computed, signal } from "@preact/signals";
import type { Identity } from "../generated/schema";

const KEY = "fairlead.token";

function stored(): string {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // storage is forbidden: the token lives until the page is left
  }
}

export const token = signal(stored());
/** Why a token is asked for; empty while none has to be. */
export const asked = signal("");
/** Who that is, as the API says; undefined before it has. */
export const caller = signal<Identity | undefined>(undefined);
export const isLoggedIn = computed(() => token.value !== "");

export function logIn(value: string): void {
  token.value = value;
  caller.value = undefined;
  asked.value = "";
  keep(value);
}

export function logOut(why = "You have logged out."): void {
  token.value = "";
  caller.value = undefined;
  asked.value = why;
  keep("");
}

function keep(value: string): void {
  try {
    if (value) sessionStorage.setItem(KEY, value);
    else sessionStorage.removeItem(KEY);
  } catch {
    // as above
  }
}
