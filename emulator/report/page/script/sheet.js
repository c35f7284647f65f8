// A page of tables: it sorts them, and finds rows in long ones.

import { element } from "./dom.js";
import { makeSortable } from "./sort.js";

const LONG = 15; // Rows from which on there is a search.

for (const table of document.querySelectorAll("table.sheet")) {
  makeSortable(table);
  if (table.tBodies[0].rows.length > LONG) addSearch(table);
}
document.documentElement.dataset.ready = "yes";

/** A field above a table; rows that do not hold its words are hidden. */
function addSearch(table) {
  const field = element("input", { type: "search", autocomplete: "off", spellcheck: false });
  const found = element("span", { className: "muted", "aria-live": "polite" });
  const rows = [...table.tBodies[0].rows];
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(" ").filter(Boolean);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    const left = rows.filter((row) => !row.hidden).length;
    found.textContent = words.length ? `${left} of ${rows.length} rows` : "";
  });
  table.parentElement.before(element("div", { className: "bar controls" }, element("label", {}, "find ", field), found));
}
