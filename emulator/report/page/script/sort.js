// Tables that sort: a heading orders the rows by its column, then the other way round, then as they were.

import { element } from "./dom.js";

const ORDERS = ["ascending", "descending", "none"];

/** Make the headings of a table into buttons that sort it; what it holds now is its own order. */
export function makeSortable(table) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 2) return;
  const cells = [...table.tHead.rows[0].cells];
  cells.forEach((cell, place) => {
    if (!cell.textContent.trim()) return;
    const button = element("button", { type: "button", className: "sorts" }, ...cell.childNodes);
    cell.replaceChildren(button);
    button.addEventListener("click", () => {
      const order = ORDERS[(ORDERS.indexOf(cell.ariaSort ?? "none") + 1) % ORDERS.length];
      for (const each of cells) each.ariaSort = null;
      if (order !== "none") cell.ariaSort = order;
      table.tBodies[0].append(...ordered(rows, place, order));
    });
  });
}

/** Rows by the cells of a column; what is no number comes after those that are. */
function ordered(rows, place, order) {
  if (order === "none") return rows;
  const sign = order === "ascending" ? 1 : -1;
  const keys = new Map(rows.map((row) => [row, keyOf(row.cells[place])]));
  return [...rows].sort((first, second) => {
    const [[one, text], [other, words]] = [keys.get(first), keys.get(second)];
    if (one === one && other === other) return sign * (one - other);
    if (one === one || other === other) return one === one ? -1 : 1;
    return sign * (text < words ? -1 : text > words ? 1 : 0);
  });
}

function keyOf(cell) {
  const text = (cell.firstChild?.textContent ?? "").trim();
  return [valueOf(text), text.toLowerCase()];
}

/** What a text begins with: seconds of h:mm:ss with days before, or a number; NaN of any other text. */
export function valueOf(text) {
  const plain = text.replaceAll(",", "").replace(/^[\u2212\u2013](?=\d)/, "-");
  const clock = /^([+-]?)(?:(\d+) d )?(\d+):(\d\d)(?::(\d\d))?/.exec(plain);
  if (clock) {
    const [, sign, days = 0, hours, minutes, seconds = 0] = clock;
    return (sign === "-" ? -1 : 1) * (86400 * days + 3600 * hours + 60 * minutes + Number(seconds));
  }
  return /^[+-]?\.?\d/.test(plain) && !/^\d{4}-\d\d-\d\d/.test(plain) ? parseFloat(plain) : NaN;
}
