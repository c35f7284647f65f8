// The page's address says what is looked at, so that a link leads there: #run=2&job=17&from=0&to=3600.

const NAMES = ["run", "job", "metric", "baseline", "other", "group", "search", "from", "to"];
const PAUSE = 250; // Milliseconds without a further change.
const NUMBERS = new Set(["run", "job", "other", "from", "to"]);
let waiting = 0;

/** What the address says; numbers that are none are left out. */
export function readAddress() {
  const stated = new URLSearchParams(location.hash.slice(1));
  const found = {};
  for (const name of NAMES) {
    const value = stated.get(name);
    if (value === null) continue;
    if (!NUMBERS.has(name)) found[name] = value;
    else if (value !== "" && Number.isFinite(Number(value))) found[name] = Number(value);
  }
  return found;
}

/** Put into the address what is looked at; what is null or empty is left out. Soon, as browsers refuse many changes at once. */
export function writeAddress(values) {
  const stated = new URLSearchParams();
  for (const name of NAMES) if (values[name] !== null && values[name] !== undefined && values[name] !== "") stated.set(name, values[name]);
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const hash = `#${stated}`;
    if (hash !== location.hash) history.replaceState(null, "", hash);
  }, PAUSE);
}
