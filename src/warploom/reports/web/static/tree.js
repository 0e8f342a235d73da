// Places a forest of programs: seeds on the left, each child to the right of its parent.

// Returns {x, y}: columns of places; x counts generations of descent, y rows from the top.
export function placed(model) {
  const count = model.length;
  const children = Array.from({ length: count }, () => []);
  const roots = [];
  for (let i = 0; i < count; i++) {
    const parent = model.place.get(model.parent[i]);
    if (parent === undefined || parent >= i) roots.push(i);
    else children[parent].push(i);
  }
  const x = new Array(count).fill(0), y = new Array(count).fill(0);
  let row = 0;
  // Without recursion: lines of descent may be thousands long.
  for (const root of roots) {
    const stack = [[root, 0]];
    while (stack.length) {
      const top = stack[stack.length - 1];
      const [node, next] = top;
      if (next < children[node].length) {
        const child = children[node][next];
        top[1]++;
        x[child] = x[node] + 1;
        stack.push([child, 0]);
      } else {
        const below = children[node];
        y[node] = below.length ? (y[below[0]] + y[below[below.length - 1]]) / 2 : row++;
        stack.pop();
      }
    }
    row += 0.6;
  }
  return { x, y, rows: row, depth: x.reduce((most, value) => Math.max(most, value), 0) };
}
