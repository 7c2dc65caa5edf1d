// SPDX-License-Identifier: Apache-2.0
import type { Service } from "../../generated/schema";
import { whyNot } from "../access";
import { usePolled } from "../api/poll";
import { Editor } from "../change/editor";
import { href, type PageProps } from "../router";

export function ChangePage({ args }: PageProps) {
  return args[0] ? <Editor name={args[0]} /> : <Choice />;
}

function Choice() {
  const { data, error } = usePolled<Service[]>("/v1/services", 10, ["service"]);
  return (
    <section class="card">
      <h1>Change the pool of a service</h1>
      {error.value && <p role="alert">{error.value}</p>}
      {data.value?.length === 0 && <p>There is no service.</p>}
      <ul>
        {(data.value ?? []).map((service) => (
          <li key={service.name}>
            <a href={href("change", [service.name])}>{service.name}</a>{" "}
            <span class="hint">
              generation {service.generation}, {service.backends} backends
              {whyNot("operator", service.name) && ", read-only"}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
