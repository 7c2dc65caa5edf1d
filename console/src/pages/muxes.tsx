// SPDX-License-Identifier: Apache-2.0
import type { PageProps } from "../app";

export function MuxesPage({ args }: PageProps) {
  return (
    <section class="card">
      <h1>Muxes {args.join(" ")}</h1>
    </section>
  );
}
