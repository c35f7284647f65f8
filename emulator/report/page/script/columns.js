// The data inside the page: blocks of gzip in base64, and columns in them, as emulator/report/page/blocks.py writes them.

import { byId } from "./dom.js";

const KINDS = { i8: Int8Array, i16: Int16Array, i32: Int32Array, f64: Float64Array };
const decoded = new Map();

/** The plain data of a block that holds JSON. */
export async function jsonOf(number) {
  return JSON.parse(new TextDecoder().decode(await bytesOf(number)));
}

/** The bytes of a block. */
async function bytesOf(number) {
  const text = atob(byId(`block-${number}`).textContent);
  const packed = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) packed[at] = text.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The values of a column: floats with NaN for unknown ones; texts have `words` beside. Each is decoded once. */
export function columnOf(table, name) {
  const about = table[name];
  if (!about) return Promise.resolve(null);
  const key = JSON.stringify([about, about.base ? table[about.base] : null]);
  if (!decoded.has(key)) decoded.set(key, decode(table, about));
  return decoded.get(key);
}

/** Several columns as one object; those that are not there are null. */
export async function columnsOf(table, names) {
  const values = await Promise.all(names.map((name) => columnOf(table, name)));
  return Object.fromEntries(names.map((name, place) => [name, values[place]]));
}

/** The text of a row of a column of texts; empty where there is none. */
export function wordAt(column, row) {
  return column && column[row] === column[row] ? column.words[column[row]] : "";
}

async function decode(table, about) {
  const values = numbersOf(await bytesOf(about.block), about);
  if (about.base) addTo(values, await columnOf(table, about.base));
  if (about.words !== undefined) values.words = await jsonOf(about.words);
  return values;
}

function numbersOf(bytes, about) {
  if (about.flag) return Float64Array.from(new Int8Array(bytes.buffer));
  const Kind = KINDS[about.kind];
  const raw = new Kind(joined(bytes, Kind.BYTES_PER_ELEMENT).buffer);
  if (about.kind === "f64") return raw;
  return spread(raw, about, -(2 ** (8 * Kind.BYTES_PER_ELEMENT - 1)));
}

/** Undo the order of the bytes: first those of each value lie together in the file. */
function joined(bytes, width) {
  const count = bytes.length / width;
  const whole = new Uint8Array(bytes.length);
  for (let plane = 0; plane < width; plane += 1) {
    for (let at = 0; at < count; at += 1) whole[at * width + plane] = bytes[plane * count + at];
  }
  return whole;
}

/** Whole numbers as floats: `missing` is unknown, steps are added up where the column rises. */
function spread(raw, about, missing) {
  const values = new Float64Array(raw.length);
  let sum = 0;
  for (let at = 0; at < raw.length; at += 1) {
    sum = about.rising ? sum + raw[at] : raw[at];
    values[at] = raw[at] === missing ? NaN : sum / about.scale;
  }
  return values;
}

/** Add another column, of which an unknown value counts as 0. */
function addTo(values, base) {
  for (let at = 0; at < values.length; at += 1) {
    const from = base[at] === base[at] ? base[at] : 0;
    values[at] = Math.round((values[at] + from) * 1e6) / 1e6;
  }
}
