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
    [of(["viewer"]), "operator", "web", "You are viewer; this takes operator of web."],
    [of(["operator"]), "operator", "web", ""],
    [of(["operator"]), "admin", "", "You are operator; this takes admin of all services."],
    [of(["admin"]), "operator", "web", ""],
    [of(["admin"]), "admin", "", ""],
    [of(["operator", "shop", "web"]), "operator", "web", ""],
    [of(["operator", "shop", "web"]), "operator", "we", "You are operator of shop, web; this takes operator of we."],
    [of(["operator", "web"]), "viewer", "", ""],
    [of(["admin", "web"]), "admin", "", "You are admin of web; this takes admin of all services."],
    [of(["viewer"], ["operator", "web"]), "operator", "web", ""],
    [undefined, "viewer", "", "It is not known yet what you may do."],
  ];
  for (const [who, role, service, said] of rows) assert.equal(refusal(who, role, service), said);
});
