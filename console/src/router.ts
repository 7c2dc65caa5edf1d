// SPDX-License-Identifier: Apache-2.0
//
// Which page the address names: #/page/argument?key=value. Arguments and values are percent-encoded.
import { signal } from "@preact/signals";

/** What a page is shown with. */
export interface PageProps {
  args: string[];
  query: Record<string, string>;
}

interface Route extends PageProps {
  page: string;
}

export function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [page = "", ...args] = path.split("/").map(decode);
  return {
    page: page || "overview",
    args: args.filter(Boolean),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not percent-encoded
  }
}

/** The address of a page, for `href`. Empty values are left out. */
export function href(page: string, args: (string | number)[] = [], query: Record<string, string> = {}): string {
  const path = [page, ...args.map((arg) => encodeURIComponent(arg))].join("/");
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

export const route = signal<Route>(parse(globalThis.location?.hash ?? ""));

export function go(to: string): void {
  location.hash = to;
}

/** Replaces the query of the page that is shown, without a new entry in the browser's history. */
export function setQuery(query: Record<string, string>): void {
  const { page, args } = route.value;
  history.replaceState(null, "", href(page, args, query));
  route.value = parse(location.hash);
}

globalThis.addEventListener?.("hashchange", () => {
  route.value = parse(location.hash);
});
