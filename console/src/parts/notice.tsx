// SPDX-License-Identifier: Apache-2.0
//
// What a page says when something could not be read or done.

/** In place of a page of which nothing has been read yet. */
export function Unread({ title, error }: { title: string; error: string }) {
  return (
    <section class={error ? "card error" : "card"}>
      <h1>{title}</h1>
      <p role="status">{error || "Loading"}</p>
    </section>
  );
}

/** Above data that could be read before, but not now; nothing without an error. */
export function Outdated({ error }: { error: string }) {
  return error ? (
    <p class="card error" role="alert">
      Data is out of date: {error}
    </p>
  ) : null;
}

/** Nothing without an error. */
export function Failure({ error }: { error: string }) {
  return error ? (
    <p class="bad" role="alert">
      {error}
    </p>
  ) : null;
}
