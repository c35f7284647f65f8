// How numbers, times and instants are written: as emulator/report/numbers.py does.

const UNKNOWN = "\u2013";
const DAY = 86400;
const forms = new Map(); // A form for numbers takes long to make, so each is made once.

/** How numbers with at least and at most so many digits after the point are written. */
function formOf(least, most) {
  const key = 10 * least + most;
  if (!forms.has(key)) forms.set(key, new Intl.NumberFormat("en-US", { minimumFractionDigits: least, maximumFractionDigits: most }));
  return forms.get(key);
}

/** A number with commas, and so many digits after the point. */
export function numberText(value, digits = 0) {
  return Number.isFinite(value) ? formOf(digits, digits).format(value) : UNKNOWN;
}

/** A share of 1 in percent. */
export function shareText(value, digits = 1) {
  return Number.isFinite(value) ? `${numberText(100 * value, digits)} %` : UNKNOWN;
}

/** Seconds as h:mm:ss, from four days on with the days before. */
export function durationText(seconds) {
  if (!Number.isFinite(seconds)) return UNKNOWN;
  const whole = Math.round(Math.abs(seconds));
  const sign = seconds < 0 && whole ? "-" : "";
  const days = whole >= 4 * DAY ? Math.floor(whole / DAY) : 0;
  const rest = whole - days * DAY;
  const two = (value) => String(value).padStart(2, "0");
  const clock = `${Math.floor(rest / 3600)}:${two(Math.floor(rest / 60) % 60)}:${two(rest % 60)}`;
  return days ? `${sign}${numberText(days)} d ${clock}` : sign + clock;
}

/** A difference of times with its sign. */
export function changeText(seconds) {
  return seconds > 0 ? `+${durationText(seconds)}` : durationText(seconds);
}

/** Seconds as a number, with digits after the point only where there are some. */
export function secondsText(seconds) {
  return Number.isFinite(seconds) ? formOf(0, 6).format(seconds) : UNKNOWN;
}

/** An instant: a date in UTC where the epoch is known and the calendar reaches so far, else seconds on the trace's clock. */
export function instantText(seconds, epoch) {
  if (!Number.isFinite(seconds)) return UNKNOWN;
  const date = dateOf(seconds, epoch);
  if (date === null) return `${secondsText(seconds)} s`;
  return date.toISOString().slice(0, 19).replace("T", " ");
}

/** The date of an instant, or null. */
export function dateOf(seconds, epoch) {
  if (epoch === null || epoch === undefined) return null;
  const date = new Date(1000 * (epoch + seconds));
  const year = date.getUTCFullYear();
  return year >= 1000 && year <= 9999 ? date : null;
}
