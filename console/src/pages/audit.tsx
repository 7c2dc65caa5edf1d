// SPDX-License-Identifier: Apache-2.0
import type { PageProps } from "../app";

export function AuditPage({ args }: PageProps) {
  return (
    <section class="card">
      <h1>Audit {args.join(" ")}</h1>
    </section>
  );
}
