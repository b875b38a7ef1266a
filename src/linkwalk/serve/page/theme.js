// Before the first paint, so that a remembered choice does not flash: light, dark, or what the system says.
try {
  const kept = localStorage.getItem("linkwalk.theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
} catch {
  /* storage is switched off: the system decides */
}
