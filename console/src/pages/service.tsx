// SPDX-License-Identifier: Apache-2.0
import type { PageProps } from "../app";

export function ServicePage({ args }: PageProps) {
  return (
    <section class="card">
      <h1>Service {args.join(" ")}</h1>
    </section>
  );
}
