// The colours of the style sheet, for what is drawn: they follow light, dark and print.

const SERIES = 8;
let kept = null;

/** The colours of now, by name; `series` is a list. */
export function colours() {
  if (kept) return kept;
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const series = Array.from({ length: SERIES }, (_, number) => colour(`series-${number}`));
  kept = { series, ...Object.fromEntries(["surface", "ink", "muted", "rule", "pale-0", "good", "bad", "mark"].map((name) => [name, colour(name)])) };
  return kept;
}

/** Colour and dash of a series: when the colours are used up, lines are broken. */
export function look(number) {
  const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3]];
  return { colour: colours().series[number % SERIES], dash: dashes[Math.floor(number / SERIES) % dashes.length] };
}

/** A colour as one number, for a picture that is made of pixels. */
export function pixelOf(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Call when other colours hold: the screen's scheme changed, or the page is about to be printed. */
export function onColours(changed) {
  const again = () => {
    kept = null;
    changed();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  const print = (on) => () => {
    document.documentElement.classList.toggle("printing", on);
    again();
  };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));
}
