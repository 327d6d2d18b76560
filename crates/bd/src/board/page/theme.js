// Light, dark, or as the system.

const THEME = 'bd-board-theme';

/** @param {string} theme `light`, `dark` or `system` */
export function setTheme(theme) {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(THEME, theme);
  } catch {
    // Without storage, the choice lasts as long as the page.
  }
}

/** Applies the theme that was chosen earlier. */
export function restoreTheme() {
  try {
    setTheme(localStorage.getItem(THEME) ?? 'system');
  } catch {
    setTheme('system');
  }
}

/** Goes from the system's theme to light, to dark, and back. */
export function nextTheme() {
  const now = document.documentElement.dataset.theme ?? 'system';
  setTheme({ system: 'light', light: 'dark', dark: 'system' }[now] ?? 'system');
}
