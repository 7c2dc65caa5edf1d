// SPDX-License-Identifier: Apache-2.0
//
// TypeScript types of the contract's schemas: an interface or alias per entry of components.schemas.

export function typescript(contract) {
  const schemas = contract.components.schemas;
  const lines = ["// Generated from openapi.yaml.", ""];
  for (const [name, schema] of Object.entries(schemas)) {
    if (schema.description) lines.push(`/** ${comment(schema.description)} */`);
    lines.push(`export type ${name} = ${type(schema, contract)};`, "");
  }
  return lines.join("\n");
}

const comment = (text) => text.trim().replace(/\s+/g, " ").replaceAll("*/", "* /");

function type(schema, contract) {
  if (schema.$ref) return reference(schema.$ref, contract);
  if (schema.allOf) return schema.allOf.map((part) => type(part, contract)).join(" & ");
  if (schema.oneOf) return schema.oneOf.map((part) => type(part, contract)).join(" | ");
  const base = plain(schema, contract);
  return schema.nullable ? `${base} | null` : base;
}

function plain(schema, contract) {
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  switch (schema.type) {
    case "string":
    case "boolean":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array":
      return `Array<${schema.items ? type(schema.items, contract) : "unknown"}>`;
    default:
      return object(schema, contract);
  }
}

function object(schema, contract) {
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties ?? {}).map(
    ([name, member]) => `${JSON.stringify(name)}${required.has(name) ? "" : "?"}: ${type(member, contract)}`,
  );
  const more = schema.additionalProperties;
  if (more && typeof more === "object") {
    const record = `Record<string, ${type(more, contract)}>`;
    return members.length ? `{ ${members.join("; ")} } & ${record}` : record;
  }
  return members.length ? `{ ${members.join("; ")} }` : "Record<string, unknown>";
}

/** #/components/schemas/Name is a name; a longer path is written out. */
function reference(ref, contract) {
  const path = ref.slice("#/".length).split("/");
  if (path.length === 3) return path[2];
  return type(
    path.reduce((node, name) => node[name], contract),
    contract,
  );
}
