// All programs of a run in columns, kept up to date: only what is new is asked for.

import { ask, runPath } from "./api.js";
import { ms, short } from "./format.js";

const COLUMNS = ["number", "at", "parent", "partner", "island", "generation", "score", "time_ms",
  "correct", "operator", "proposer", "model", "failure", "seconds", "cost", "created"];
const WORDS = ["operator", "proposer", "model", "failure"];

export class Model {
  constructor(key) {
    this.key = key;
    this.clear();
  }

  clear() {
    for (const name of COLUMNS) this[name] = [];
    this.place = new Map();
    this.last = 0;
    this.champion = null;
    this.best = null;
    this.path = new Set();
    this.migrated = new Set();
    this.leftOut = 0;
  }

  get length() { return this.number.length; }
  get leader() { return this.champion ?? this.best; }

  async refresh() {
    if (this.leftOut) this.clear();
    const graph = await ask(runPath(this.key, `/graph?after=${this.last}`));
    for (const name of WORDS) graph[name] = graph[name].map((at) => graph.words[at]);
    for (let i = 0; i < graph.number.length; i++) {
      if (this.place.has(graph.number[i])) continue; // an answer that came twice
      this.place.set(graph.number[i], this.number.length);
      for (const name of COLUMNS) this[name].push(graph[name][i]);
    }
    this.last = graph.last;
    this.total = graph.total;
    this.leftOut = graph.left_out;
    this.champion = graph.champion;
    this.best = graph.best;
    this.path = new Set(graph.path);
    this.migrated = new Set(graph.migrated);
  }

  tell(i) {
    const score = this.correct[i]
      ? (this.time_ms[i] === null ? `score ${short(this.score[i])}` : `${ms(this.time_ms[i])}, score ${short(this.score[i])}`)
      : `failed: ${this.failure[i] || "run"}`;
    const from = this.parent[i] === null ? "seed" : `from ${this.parent[i]}`;
    const by = this.model[i] ? `${this.operator[i]} by ${this.model[i]}` : this.operator[i];
    const marks = [this.number[i] === this.champion ? "champion" : "", this.migrated.has(this.number[i]) ? "migrated" : ""].filter(Boolean);
    return `Program ${this.number[i]}${marks.length ? ` (${marks.join(", ")})` : ""}\n${score}\n${by}, ${from}, island ${this.island[i]}, generation ${this.generation[i]}`;
  }
}
