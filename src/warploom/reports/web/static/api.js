// Asks the server. One place knows addresses; each answer is JSON.

export class Told extends Error {}

export async function ask(path, form = "json") {
  let answer;
  try {
    answer = await fetch(`/api/${path}`, { headers: { Accept: "application/json" } });
  } catch {
    throw new Told("The server does not answer. Is warploom visualize still running?");
  }
  if (!answer.ok) throw new Told(await reason(answer));
  return form === "json" ? answer.json() : answer.text();
}

async function reason(answer) {
  const text = await answer.text();
  try {
    const told = JSON.parse(text);
    return told.error ? `${told.error}${told.hint ? ` (${told.hint})` : ""}` : text;
  } catch {
    return text;
  }
}

export const runPath = (key, rest = "") => `runs/${encodeURIComponent(key)}${rest}`;
export const runLink = (key, view = "overview", rest = "") =>
  `#/${encodeURIComponent(key)}/${view}${rest}`;
export const programLink = (key, number) => runLink(key, "program", `/${number}`);
export const isStaged = (key) => /^(transform|synthesis)-/.test(key);
export const stagedLink = (key, view = "result", rest = "") =>
  `#/${encodeURIComponent(key)}/${view}${rest ? `/${encodeURIComponent(rest)}` : ""}`;
