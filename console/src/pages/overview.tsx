// SPDX-License-Identifier: Apache-2.0
import type { PageProps } from "../app";

export function OverviewPage({ args }: PageProps) {
  return (
    <section class="card">
      <h1>Overview {args.join(" ")}</h1>
    </section>
  );
}
