// SPDX-License-Identifier: Apache-2.0
//
// Dark or light: as the system says, unless chosen here.
import { effect, signal } from "@preact/signals";

type Theme = "light" | "dark";
const KEY = "fairlead.theme";

const system = matchMedia("(prefers-color-scheme: dark)");
const chosen = (): Theme | undefined => {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : undefined;
  } catch {
    return undefined; // storage is forbidden
  }
};

export const theme = signal<Theme>(chosen() ?? (system.matches ? "dark" : "light"));
system.addEventListener("change", () => {
  if (!chosen()) theme.value = system.matches ? "dark" : "light";
});
effect(() => {
  document.documentElement.dataset.theme = theme.value;
});

export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // kept until the page is left
  }
}

/** The value of a colour of the style sheet now, for canvases: `colour("--ink")`. */
export function colour(name: string): string {
  void theme.value; // callers that draw follow the theme
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
