// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Identity } from "../generated/schema";
import { refusal, type Role } from "./access";

const of = (...roles: [Role, ...string[]][]): Identity => ({
  name: "x",
  roles: roles.map(([role, ...services]) => ({ role, services })),
});

test("a role includes those before it, for its services", () => {
  const rows: [Identity | undefined, Role, string, string][] = [
    [of(["viewer"]), "viewer", "", ""],
    [of(["viewer"]), "operator", "web", "Your role is viewer; you need operator of web."],
    [of(["operator"]), "operator", "web", ""],
    [of(["operator"]), "admin", "", "Your role is operator; you need admin of all services."],
    [of(["admin"]), "operator", "web", ""],
    [of(["admin"]), "admin", "", ""],
    [of(["operator", "shop", "web"]), "operator", "web", ""],
    [of(["operator", "shop", "web"]), "operator", "we", "Your role is operator of shop, web; you need operator of we."],
    [of(["operator", "web"]), "viewer", "", ""],
    [of(["admin", "web"]), "admin", "", "Your role is admin of web; you need admin of all services."],
    [of(["viewer"], ["operator", "web"]), "operator", "web", ""],
    [undefined, "viewer", "", "Loading your permissions."],
  ];
  for (const [who, role, service, said] of rows) assert.equal(refusal(who, role, service), said);
});
