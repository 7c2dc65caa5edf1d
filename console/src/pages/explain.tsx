// SPDX-License-Identifier: Apache-2.0
import type { PageProps } from "../app";

export function ExplainPage({ args }: PageProps) {
  return (
    <section class="card">
      <h1>Explain {args.join(" ")}</h1>
    </section>
  );
}
