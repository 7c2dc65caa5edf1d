// SPDX-License-Identifier: Apache-2.0
//
// The one way to the API. Requests go to the controller that served this page; if it cannot be reached, or can neither
// write nor forward, to the other controllers, whose addresses come from the API itself (docs/console.md).
import { computed, signal } from "@preact/signals";
import type { Health, MetricsTarget, Problem } from "../../generated/schema";
import { asked, logOut, token } from "../session";

const TIMEOUT_MILLIS = 15_000;

/** An answer that is no success, as the API words it. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.detail ?? problem.title);
  }
}

/** No controller can be reached. */
class UnreachableError extends Error {
  constructor() {
    super(`no controller answers; tried ${asks.value.join(", ")}`);
  }
}

export interface Reply<T> {
  /** Undefined for 304. */
  body: T | undefined;
  status: number;
  etag: string;
  headers: Headers;
}

interface Ask {
  method?: string;
  body?: unknown;
  /** Sent as If-Match: the tag as `Reply.etag` has it. */
  ifMatch?: string;
  ifNoneMatch?: string;
  idempotencyKey?: string;
  signal?: AbortSignal;
  /** No limit of time, for streams. */
  isStream?: boolean;
  headers?: Record<string, string>;
  /** Another token than the session's, to try it. */
  token?: string;
}

const own = globalThis.location?.origin ?? "";
/** Controllers that are known, this page's own first. */
const bases = signal<string[]>([own]);
/** Whom the page's Content-Security-Policy names, as its controller wrote into it: requests to all others are blocked. */
const named = globalThis.document?.querySelector<HTMLMetaElement>('meta[name="controllers"]')?.content ?? "";
/** Those that this page may ask, and send its token to: itself, and whom its controller vouches for. */
const asks = computed(() => bases.value.filter((each) => isAskable(each, named)));
/** Those that it may not ask, but may lead to. */
export const elsewhere = computed(() => bases.value.filter((each) => !isAskable(each, named)));
/** The one that is asked. */
export const base = signal(own);
/** Whether the last attempt to reach any controller failed. */
export const isLost = signal(false);

/** The answer, of any status but failures. Throws ApiError, UnreachableError or the abort's error. */
export async function call<T>(path: string, ask: Ask = {}): Promise<Reply<T>> {
  const response = await send(path, ask);
  if (response.status === 401 && ask.token === undefined)
    logOut(token.value ? "The controller does not accept this token." : "A token is required.");
  if (!response.ok && response.status !== 304) throw await refused(response);
  const isEmpty = response.status === 304 || response.status === 204;
  const body = isEmpty ? undefined : ((await response.json()) as T);
  return { body, status: response.status, etag: response.headers.get("ETag") ?? "", headers: response.headers };
}

export async function get<T>(path: string): Promise<T> {
  return (await call<T>(path)).body as T;
}

export const servicePath = (name: string) => `/v1/services/${encodeURIComponent(name)}`;

/** A new Idempotency-Key. Made of random bytes, since randomUUID is only there over TLS. */
export function key(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The response itself, for streams and downloads. A 503 that another controller may do better is tried there. */
export async function send(path: string, ask: Ask = {}): Promise<Response> {
  const first = base.value;
  for (const at of [first, ...asks.value.filter((each) => each !== first)]) {
    try {
      const response = await once(at, path, ask);
      isLost.value = false;
      if (response.status === 503 && (await follow(at))) return await once(base.value, path, ask);
      base.value = at;
      return response;
    } catch (error) {
      if (ask.signal?.aborted) throw error;
    }
  }
  isLost.value = true;
  throw new UnreachableError();
}

function once(at: string, path: string, ask: Ask): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json, text/event-stream", ...ask.headers };
  const bearer = ask.token ?? token.value;
  if (bearer) headers.Authorization = `Bearer ${bearer}`;
  if (ask.body !== undefined) headers["Content-Type"] = "application/json";
  if (ask.ifMatch) headers["If-Match"] = ask.ifMatch;
  if (ask.ifNoneMatch) headers["If-None-Match"] = ask.ifNoneMatch;
  if (ask.idempotencyKey) headers["Idempotency-Key"] = ask.idempotencyKey;
  const limits = [ask.signal, ask.isStream ? undefined : AbortSignal.timeout(TIMEOUT_MILLIS)];
  return fetch(at + path, {
    method: ask.method ?? "GET",
    headers,
    body: ask.body === undefined ? undefined : JSON.stringify(ask.body),
    signal: either(limits.filter((each) => each !== undefined)),
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
    referrerPolicy: "no-referrer",
  });
}

function either(signals: AbortSignal[]): AbortSignal | undefined {
  if (signals.length < 2) return signals[0];
  const both = new AbortController();
  for (const each of signals) {
    if (each.aborted) both.abort(each.reason);
    else each.addEventListener("abort", () => both.abort(each.reason), { once: true });
  }
  return both.signal;
}

/** Whether another controller leads and is one that may be asked; it is asked from now on. */
async function follow(at: string): Promise<boolean> {
  try {
    const health = (await (await once(at, "/healthz", {})).json()) as Health;
    const leader = health.leaderUrl?.replace(/\/$/, "");
    if (health.leader || !leader || leader === at || !asks.value.includes(leader)) return false;
    base.value = leader;
    return true;
  } catch {
    return false; // it is as unavailable as its answer said
  }
}

/** What an answer that is no success says. */
export async function refused(response: Response): Promise<ApiError> {
  const { status } = response;
  try {
    return new ApiError(status, (await response.json()) as Problem);
  } catch {
    return new ApiError(status, { type: "about:blank", title: `the controller answered ${status}`, status } as Problem);
  }
}

/** Learns which controllers run. Those that are known stay: a page must find back to one that was restarted. */
export async function findControllers(): Promise<void> {
  const targets = await get<MetricsTarget[]>("/v1/metrics/targets?part=controller");
  bases.value = merge(
    bases.value,
    targets.flatMap((target) => target.targets.map((at) => `${target.labels.__scheme__ ?? "http"}://${at}`)),
  );
}

/** Whether the page's own controller has this origin, or its policy names it. */
export function isAskable(origin: string, named: string): boolean {
  return origin === own || named.split(" ").includes(origin);
}

/** Origins as browsers write them, without default ports. */
export function merge(known: string[], found: string[]): string[] {
  return [...new Set([...known, ...found.map((url) => new URL(url).origin)])];
}

/** What an error says, for the user. */
export function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether the API wants a token: the first request of the page. Sets `asked` if so. */
export async function greet(welcome: () => Promise<void>): Promise<void> {
  try {
    await call("/v1/cluster");
    await Promise.all([welcome(), findControllers()]);
  } catch (error) {
    if (!(error instanceof ApiError) && !asked.value) setTimeout(() => void greet(welcome), 2000);
  }
}
