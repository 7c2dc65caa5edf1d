// SPDX-License-Identifier: Apache-2.0
//
// A pool as it was read, and as somebody else has made it since.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Backend, Service } from "../../generated/schema";
import { call, text } from "../api/client";
import { usePolled } from "../api/poll";

export interface Version {
  etag: string;
  generation: number;
  backends: Backend[];
}

export interface Versions {
  /** What is edited; undefined until it has been read. */
  base: Version | undefined;
  /** A later one that somebody else made while there were edits. */
  latest: Version | undefined;
  error: string;
  /** Edits are of `version` from now on. */
  adopt: (version: Version) => void;
  /** Reads the one to edit. */
  load: () => Promise<void>;
  /** Reads the later one, after the API has refused a write because of it. */
  loadLatest: () => Promise<void>;
}

/** One version of the pool: the list and the service have the same tag, or they are read again. */
async function read(path: string): Promise<Version> {
  for (;;) {
    const backends = await call<Backend[]>(`${path}/backends`);
    const service = await call<Service>(path);
    if (service.etag === backends.etag) {
      return { etag: backends.etag, generation: service.body!.generation, backends: backends.body! };
    }
  }
}

/** Of the service at `path`. A version that appears while the page itself writes (`isWriting`) is its own. */
export function useVersions(path: string, isWriting: boolean, hasEdits: () => boolean): Versions {
  const base = useSignal<Version | undefined>(undefined);
  const latest = useSignal<Version | undefined>(undefined);
  const error = useSignal("");
  const watched = usePolled<Service>(path, 3, ["service"]);

  const adopt = (version: Version) => {
    base.value = version;
    latest.value = undefined;
  };
  const readInto = async (take: (version: Version) => void) => {
    try {
      take(await read(path));
      error.value = "";
    } catch (failure) {
      error.value = text(failure);
    }
  };
  const load = () => readInto(adopt);
  const loadLatest = () => readInto((version) => (latest.value = version));

  useEffect(() => void load(), [path]);
  // Somebody else's commit is shown as soon as it is there, not only when a write is refused because of it.
  useEffect(() => {
    const tag = watched.etag.value;
    if (!base.value || !tag || isWriting || tag === base.value.etag || tag === latest.value?.etag) return;
    void read(path).then(
      (version) => {
        if (version.etag === base.value?.etag) return;
        (hasEdits() ? latest : base).value = version; // without edits there is nothing to contradict
      },
      () => {}, // asked again with the next version
    );
  }, [watched.etag.value, base.value, isWriting]);
  return { base: base.value, latest: latest.value, error: error.value, adopt, load, loadLatest };
}
