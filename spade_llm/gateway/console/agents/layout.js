// Where the agents stand in the picture, and the lines between them. Pure.

const STEPS = { isWide: 0.87, isTall: 1.1 }; // radians between neighbours, if there is room
const SPAN = 2.7; // of one side at most
const WIDEST = 400;
const TALLEST = 230;
const LABEL = 46; // below each one
const ORDER = ["memory", "rag", "tools"];

/**
 * The gateway in the middle, assistants on one side of it, what they use on the other.
 * @param {{jid: string, kind: string}[]} agents
 * @returns {{middle: Place, places: Map<string, Place>}} Place: {x, y, r}, in pixels
 */
export function layout(agents, { width, height }) {
  const isTall = height > width;
  const around = agents.filter((agent) => agent.kind !== "gateway");
  const r = Math.max(15, Math.min(30, width / 13, (width + height) / (around.length * 5)));
  const rx = Math.min(WIDEST, width / 2 - r - (isTall ? 30 : 70));
  const ry = Math.min(TALLEST, (height - 2 * r - LABEL) / 2 - 12);
  const middle = { x: width / 2, y: r + 12 + ry, r: r * 1.25 };
  const places = new Map();
  for (const [jid, angle] of angles(around, isTall)) {
    places.set(jid, { x: middle.x + rx * Math.cos(angle), y: middle.y + ry * Math.sin(angle), r });
  }
  return { middle, places };
}

export function straight(from, to) {
  return `M${point(rim(from, to))}L${point(rim(to, from))}`;
}

/** Around the middle, not through it. */
export function around(from, to, middle) {
  const half = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
  const [dx, dy] = [half.x - middle.x, half.y - middle.y || -1];
  const far = Math.hypot(dx, dy);
  const out = Math.max(0, middle.r + 30 - far);
  const control = { x: half.x + (2 * out * dx) / far, y: half.y + (2 * out * dy) / far };
  return `M${point(rim(from, control))}Q${point(control)} ${point(rim(to, control))}`;
}

function angles(agents, isTall) {
  const isFirst = (agent) => agent.kind === "assistant";
  const first = agents.filter(isFirst).sort((a, b) => a.jid.localeCompare(b.jid));
  const second = agents.filter((agent) => !isFirst(agent));
  second.sort((a, b) => rank(a) - rank(b) || a.jid.localeCompare(b.jid));
  const toFirst = isTall ? -Math.PI / 2 : Math.PI; // above, or on the left
  const step = isTall ? STEPS.isTall : STEPS.isWide;
  return [...spread(first, toFirst, -step), ...spread(second, toFirst + Math.PI, step)];
}

function spread(agents, centre, widest) {
  const step = Math.sign(widest) * Math.min(Math.abs(widest), SPAN / Math.max(1, agents.length - 1));
  return agents.map((agent, n) => [agent.jid, centre + (n - (agents.length - 1) / 2) * step]);
}

function rank(agent) {
  const place = ORDER.indexOf(agent.kind);
  return place === -1 ? ORDER.length : place;
}

function rim(place, towards) {
  const [dx, dy] = [towards.x - place.x, towards.y - place.y];
  const far = Math.hypot(dx, dy) || 1;
  const gap = place.r + 6;
  return { x: place.x + (dx / far) * gap, y: place.y + (dy / far) * gap };
}

function point({ x, y }) {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}
