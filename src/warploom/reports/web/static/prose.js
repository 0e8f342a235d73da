// Text of our own pages on findings: paragraphs, code in backticks, fenced blocks. Never HTML.

import { codeBlock, diffBlock } from "./code.js";
import { h } from "./dom.js";

export function prose(text) {
  const found = [];
  let block = null, kind = "", words = [];
  const paragraph = () => { if (words.length) found.push(h("p", {}, inline(words.join(" ")))); words = []; };
  for (const line of text.split("\n")) {
    if (block && line.startsWith("```")) {
      found.push(kind === "diff" ? diffBlock(block.join("\n")) : codeBlock(block.join("\n")));
      block = null;
    } else if (block) block.push(line);
    else if (line.startsWith("```")) { paragraph(); block = []; kind = line.slice(3).trim(); }
    else if (line.trim() === "") paragraph();
    else words.push(line.trim());
  }
  paragraph();
  return h("div", {}, found);
}

function inline(text) {
  return text.split(/(`[^`]+`)/).map((part) => (/^`[^`]+`$/.test(part) ? h("code", {}, part.slice(1, -1)) : part.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("*", "")));
}
