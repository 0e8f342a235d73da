// Colors that people with any color vision can tell apart, in light and dark.

const STOPS = ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725"];
const KINDS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c7ae6", "#7f8c8d"];

// The same hues for dark paper, where the first ones would sink in.
const BRIGHT = ["#4fa8e0", "#f2b640", "#2fc79a", "#e3a0c8", "#9bd3f7", "#f58742", "#b0a3f5", "#aab6b8"];

const isDark = () => document.documentElement.dataset.theme === "dark";

export function kind(at) {
  const all = isDark() ? BRIGHT : KINDS;
  return all[((at % all.length) + all.length) % all.length];
}

// One color for each value of a column, the same in every view: an island's is that of its number.
export function kinds(names) {
  const sorted = [...new Set(names)].sort((a, b) => (a > b ? 1 : -1));
  return new Map(sorted.map((name, at) => [name, kind(typeof name === "number" ? name : at)]));
}

// 0 to 1: viridis; on dark paper without its darkest quarter.
export function scale(part) {
  const at = Math.max(0, Math.min(1, isDark() ? 0.25 + 0.75 * part : part)) * (STOPS.length - 1);
  const low = Math.floor(at), high = Math.min(STOPS.length - 1, low + 1);
  const [a, b] = [STOPS[low], STOPS[high]].map((text) =>
    [1, 3, 5].map((from) => parseInt(text.slice(from, from + 2), 16)));
  return `rgb(${a.map((value, i) => Math.round(value + (b[i] - value) * (at - low))).join(" ")})`;
}

export function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Scores crowd at the top: colors follow ranks, so that good ones can be told apart.
export function ranker(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return (value) => {
    let low = 0, high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle] < value) low = middle + 1;
      else high = middle;
    }
    return sorted.length < 2 ? 1 : low / (sorted.length - 1);
  };
}
