// SPDX-License-Identifier: Apache-2.0
import type { PageProps } from "../app";

export function ChangePage({ args }: PageProps) {
  return (
    <section class="card">
      <h1>Change {args.join(" ")}</h1>
    </section>
  );
}
