// The chosen theme, before anything is painted. A classic script: modules run after the first paint.
(() => {
  let theme = null;
  try {
    theme = JSON.parse(localStorage.getItem("console.theme"));
  } catch {
    // Storage is blocked, or somebody wrote something else there: the system's theme it is.
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
