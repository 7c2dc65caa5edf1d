// SPDX-License-Identifier: Apache-2.0
//
// What the caller may do. The API decides; by this the page disables what it would refuse, and says why.
import type { ComponentChildren } from "preact";
import type { Identity } from "../generated/schema";
import { ApiError, get } from "./api/client";
import { href } from "./router";
import { asked, caller } from "./session";

export type Role = "viewer" | "operator" | "admin";

const ROLES: Role[] = ["viewer", "operator", "admin"];
/** Of a controller that cannot say it: then everything is offered, and refused where it must be. */
const UNTOLD: Identity = { name: "", roles: [{ role: "admin", services: [] }] };

/** Asks who the caller is. Roles change while a page is open, so it is asked again and again. */
export async function learnCaller(): Promise<void> {
  if (asked.value) return;
  try {
    const found = await get<Identity>("/v1/whoami");
    if (JSON.stringify(found) !== JSON.stringify(caller.value)) caller.value = found;
  } catch (failure) {
    if (failure instanceof ApiError && failure.status === 404) caller.value = UNTOLD;
  }
}

/** Why `who` may not do what takes `role` for this service, or for all; empty if it may. */
export function refusal(who: Identity | undefined, role: Role, service = ""): string {
  if (!who) return "Loading your permissions.";
  const wanted = ROLES.indexOf(role);
  const may = who.roles.some(
    (each) =>
      ROLES.indexOf(each.role) >= wanted &&
      (wanted === 0 || each.services.length === 0 || (service !== "" && each.services.includes(service))),
  );
  if (may) return "";
  return `Your role is ${roles(who)}; you need ${role}${service ? ` of ${service}` : " of all services"}.`;
}

/** viewer, or operator of web, shop */
export function roles(who: Identity): string {
  return who.roles
    .map((each) => (each.services.length ? `${each.role} of ${each.services.join(", ")}` : each.role))
    .join(" and ");
}

/** Why the caller may not; empty if it may. */
export const whyNot = (role: Role, service = "") => refusal(caller.value, role, service);

/** Of a control that is disabled for `reason`, which the element `id` says: for after its own `disabled`. */
export function locked(reason: string, id: string) {
  return reason ? { disabled: true, title: reason, "aria-describedby": id } : {};
}

/** Says why controls are disabled; nothing if they are not. */
export function Why({ reason, id }: { reason: string; id: string }) {
  return reason ? (
    <p id={id} class="why" role="note">
      <span aria-hidden="true">⊘ </span>
      {reason}
    </p>
  ) : null;
}

/** A link to the page that changes a service, for those who may. */
export function ChangeLink(props: { service: string; class?: string; label?: string; children: ComponentChildren }) {
  const reason = whyNot("operator", props.service);
  if (reason) {
    return (
      <a class={`${props.class ?? ""} off`} role="link" aria-disabled="true" aria-label={props.label} title={reason}>
        {props.children}
      </a>
    );
  }
  return (
    <a class={props.class} href={href("change", [props.service])} aria-label={props.label}>
      {props.children}
    </a>
  );
}
