// SPDX-License-Identifier: Apache-2.0
//
// The frame of all pages: navigation, state of the connection, log-in.
import { useSignal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";
import { learnCaller, roles } from "./access";
import { base, call, elsewhere, findControllers, isLost, text } from "./api/client";
import { isStreaming } from "./api/events";
import { AuditPage } from "./pages/audit";
import { ChangePage } from "./pages/change";
import { ExplainPage } from "./pages/explain";
import { MuxesPage } from "./pages/muxes";
import { OverviewPage } from "./pages/overview";
import { ServicePage } from "./pages/service";
import { href, type PageProps, route } from "./router";
import { asked, caller, isLoggedIn, logIn, logOut } from "./session";
import { theme, toggleTheme } from "./theme";

interface Page {
  title: string;
  /** Absent from the navigation if it needs an argument. */
  isListed: boolean;
  component: FunctionComponent<PageProps>;
}

const pages: Record<string, Page> = {
  overview: { title: "Overview", isListed: true, component: OverviewPage },
  service: { title: "Service", isListed: false, component: ServicePage },
  change: { title: "Change", isListed: true, component: ChangePage },
  explain: { title: "Explain", isListed: true, component: ExplainPage },
  muxes: { title: "Muxes and servers", isListed: true, component: MuxesPage },
  audit: { title: "Audit and events", isListed: true, component: AuditPage },
};

export function App() {
  const { page, args, query } = route.value;
  const shown = pages[page];
  const title = [shown?.title ?? "Not found", ...args].join(" · ");
  useEffect(() => {
    document.title = `${title} · Fairlead`;
  }, [title]);
  if (asked.value) return <LogIn why={asked.value} />;
  const Component = shown?.component;
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the page
      </a>
      <header class="bar">
        <a class="brand" href={href("overview")}>
          <img src="/console/icon.svg" alt="" width="22" height="22" /> Fairlead
        </a>
        <nav aria-label="Pages">
          {Object.entries(pages)
            .filter(([, each]) => each.isListed)
            .map(([name, each]) => (
              <a key={name} href={href(name)} aria-current={name === page ? "page" : undefined}>
                {each.title}
              </a>
            ))}
        </nav>
        <div class="tools">
          <Connection />
          <button
            type="button"
            onClick={toggleTheme}
            aria-label={`Use the ${theme.value === "dark" ? "light" : "dark"} theme`}
          >
            {theme.value === "dark" ? "☀" : "☾"}
          </button>
          {isLoggedIn.value && (
            <>
              {caller.value?.name && (
                <span class="caller" title={`You are ${caller.value.name}, ${roles(caller.value)}`}>
                  {caller.value.name} · {roles(caller.value)}
                </span>
              )}
              <button type="button" onClick={() => logOut()}>
                Log out
              </button>
            </>
          )}
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {isLost.value && elsewhere.value.length > 0 && <Elsewhere />}
        {Component ? (
          <Component key={`${page}/${args.join("/")}`} args={args} query={query} />
        ) : (
          <section class="card">
            <h1>Not found</h1>
            <p>
              There is no page '{page}'. <a href={href("overview")}>Overview</a>
            </p>
          </section>
        )}
      </main>
    </>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** Which controller answers, and whether events arrive. */
function Connection() {
  const [state, words] = isLost.value
    ? ["bad", "no controller answers, trying again"]
    : isStreaming.value
      ? ["good", "live"]
      : ["warn", "connecting"];
  return (
    <span class={`connection ${state}`} role="status" title={`controller: ${base.value}`}>
      <span class="dot" aria-hidden="true" /> {words}
      <span class="host"> · {base.value.replace(/^https?:\/\//, "")}</span>
    </span>
  );
}

/** Controllers that this page's policy does not let it ask: their own pages can. */
function Elsewhere() {
  return (
    <section class="card error" role="alert">
      <p>
        This page cannot reach a controller. Browsers do not let it contact the controllers below, as they were unknown
        when it was loaded, or have literal IPv6 addresses. Open their own consoles:
      </p>
      <ul>
        {elsewhere.value.map((each) => (
          <li key={each}>
            <a href={`${each}/${location.hash}`} rel="noreferrer">
              {each}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function LogIn({ why }: { why: string }) {
  const value = useSignal("");
  const error = useSignal("");
  const isBusy = useSignal(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    isBusy.value = true;
    const token = value.value.trim();
    try {
      await call("/v1/cluster", { token });
      logIn(token);
      await Promise.all([learnCaller(), findControllers()]);
    } catch (failure) {
      error.value = text(failure);
    }
    isBusy.value = false;
  };
  return (
    <main id="main" class="login">
      <form class="card" onSubmit={submit}>
        <h1>
          <img src="/console/icon.svg" alt="" width="28" height="28" /> Fairlead
        </h1>
        <p role={error.value ? "alert" : "status"}>{error.value || why}</p>
        <label>
          Token
          <input
            type="password"
            name="token"
            autocomplete="off"
            required
            autoFocus
            value={value.value}
            onInput={(event) => (value.value = event.currentTarget.value)}
          />
        </label>
        <p class="hint">This tab keeps the token until you log out or close the tab.</p>
        <button type="submit" class="primary" disabled={isBusy.value}>
          Log in
        </button>
      </form>
    </main>
  );
}
