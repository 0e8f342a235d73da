// Numbers for people.

export function short(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2);
  if (size >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 1, useGrouping: false });
  return String(Number(value.toPrecision(4)));
}

export const count = (value) => value.toLocaleString("en");
export const ms = (value) => (value === null || value === undefined ? "–" : `${short(value)} ms`);
export const times = (value) => (value === null || value === undefined ? "–" : `${short(value)}×`);
export const dollars = (value) => `$${value < 1 ? value.toFixed(4).replace(/0{2}$/, "") : value.toFixed(2)}`;
export const share = (value) => `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`;

export function duration(seconds) {
  if (seconds < 90) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 5400) return `${(seconds / 60).toFixed(1)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

export const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;
