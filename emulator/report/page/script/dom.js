// Elements of the page. What comes from a trace or a configuration gets here as text, and never becomes anything else.

/** The element of an id. */
export function byId(id) {
  return document.getElementById(id);
}

/** A new element: properties are set as they are, children are elements or texts. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null).map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

/** A word with its definition on hover. */
export function term(text, definition) {
  return definition ? element("span", { className: "term", title: definition }, text) : element("span", {}, text);
}

/** A table's head: texts or elements; those from `numbers` on are numbers. */
export function head(titles, numbers = titles.length) {
  const cells = titles.map((title, place) => element("th", { scope: "col", className: place >= numbers ? "number" : "" }, title));
  return element("thead", {}, element("tr", {}, ...cells));
}

/** A row of cells; the first is its heading. */
export function row(cells, numbers = cells.length) {
  const [first, ...others] = cells;
  const rest = others.map((cell, place) => element("td", { className: place + 1 >= numbers ? "number" : "any" }, cell));
  return element("tr", {}, element("th", { scope: "row", className: numbers <= 0 ? "number" : "any" }, first), ...rest);
}

/** Fill a list of choices; `choices` are pairs of value and text, or groups of them under a heading. */
export function fill(select, choices, chosen) {
  const option = ([value, text]) => element("option", { value: String(value), selected: String(value) === String(chosen) }, text);
  select.replaceChildren(
    ...choices.map((each) =>
      each.group ? element("optgroup", { label: each.group }, ...each.choices.map(option)) : option(each)
    )
  );
}
