// The network as a picture: who is online, what each one is doing, who asks whom. It keeps its
// elements from one look to the next, so that nothing flickers and the focus stays where it is.

import { svg } from "../dom.js";
import { moment, number } from "../i18n.js";
import { icon } from "../icons.js";
import { around, layout, straight } from "./layout.js";
import { t } from "./texts.js";

const LIVE_S = 6; // a request so young still flows along its line
const PULSE_MS = 1600; // as in agents.css
const SHOWN_S = 90; // and one so old has left no line
const ICONS = { assistant: "chat", memory: "memory", rag: "documents", tools: "tools" };
const MIDDLE = "gateway";
const LONGEST_NAME = 16;

/** @param {(jid: string) => void} onChoose an agent was clicked, or chosen by keyboard */
export function picture(onChoose) {
  const lines = svg("g", { class: "net-lines" });
  const people = svg("g", { class: "net-agents" });
  const root = svg("svg", { class: "net", role: "group", "aria-label": t("picture") }, lines, people);
  const figures = new Map(); // jid -> figure
  let seen = { agents: [], requests: [], chosen: "" };

  function draw() {
    const size = { width: root.clientWidth, height: root.clientHeight };
    if (!size.width) return;
    root.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
    const { middle, places } = layout(seen.agents, size);
    const gateway = seen.agents.find((agent) => agent.kind === "gateway");
    const everywhere = new Map(places).set(gateway?.jid ?? MIDDLE, middle);
    drawAgents(everywhere);
    lines.replaceChildren(...drawnLines(seen, everywhere, middle));
  }

  function drawAgents(places) {
    for (const [jid, figure] of figures) {
      if (!places.has(jid)) figures.delete(jid), figure.node.remove();
    }
    for (const [jid, place] of places) {
      const agent = seen.agents.find((one) => one.jid === jid) ?? NOBODY;
      if (!figures.has(jid)) {
        figures.set(jid, newFigure(agent, () => onChoose(jid)));
        people.append(figures.get(jid).node);
      }
      figures.get(jid).show(agent, place, seen.chosen === jid);
    }
  }

  new ResizeObserver(draw).observe(root);
  return {
    node: root,
    show(state) {
      seen = state;
      draw();
    },
  };
}

const NOBODY = { jid: MIDDLE, kind: "gateway", online: true, running: 0, queued: 0, per_minute: 0 };

function newFigure(agent, choose) {
  const ring = svg("circle", { class: "net-ring" });
  const disc = svg("circle", { class: "net-disc" });
  const glyph = agent.kind === "gateway" ? personGlyph() : icon(ICONS[agent.kind] ?? "help");
  const badge = svg("g", { class: "net-badge" }, svg("rect", { rx: 8, height: 16 }), svg("text", { y: 12 }));
  const name = svg("text", { class: "net-name" });
  const rate = svg("text", { class: "net-rate" });
  const title = svg("title", null); // names the figure for screen readers
  const node = svg(
    "g",
    {
      tabindex: 0,
      role: "button",
      on: {
        click: choose,
        keydown: (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          choose();
        },
      },
    },
    title, ring, disc, glyph, badge, name, rate,
  );
  const show = (now, place, isChosen) => {
    const { r } = place;
    const state = now.online ? "is-online" : "is-away";
    node.setAttribute("class", `net-agent net-${kindClass(now)} ${state}${now.running ? " is-busy" : ""}`);
    node.setAttribute("transform", `translate(${place.x.toFixed(1)} ${place.y.toFixed(1)})`);
    node.setAttribute("aria-pressed", String(isChosen));
    title.textContent = [sentence(now), now.jid, now.summary, ...(now.notes ?? [])].filter(Boolean).join("\n");
    disc.setAttribute("r", r);
    ring.setAttribute("r", r + 5);
    setGlyph(glyph, r);
    showBadge(badge, now, r);
    name.textContent = short(now.jid);
    name.setAttribute("y", r + 23);
    rate.textContent = line(now);
    rate.setAttribute("y", r + 39);
  };
  return { node, show };
}

function setGlyph(glyph, r) {
  const size = r * 0.95;
  for (const name of ["x", "y"]) glyph.setAttribute(name, -size / 2);
  for (const name of ["width", "height"]) glyph.setAttribute(name, size);
}

function showBadge(badge, agent, r) {
  const [box, text] = badge.childNodes;
  const says = [agent.running || null, agent.queued ? `+${agent.queued}` : null].filter(Boolean).join(" ");
  text.textContent = says;
  const width = 10 + says.length * 7;
  box.setAttribute("width", width);
  text.setAttribute("x", width / 2);
  badge.setAttribute("transform", `translate(${r * 0.5} ${-r - 8})`);
  badge.setAttribute("visibility", says && agent.online ? "visible" : "hidden");
}

function drawnLines({ agents, requests, chosen }, places, middle) {
  const gateway = agents.find((agent) => agent.kind === "gateway")?.jid ?? MIDDLE;
  const path = (from, to) => {
    const [a, b] = [places.get(from), places.get(to)];
    return from === gateway || to === gateway ? straight(a, b) : around(a, b, middle);
  };
  const line = (look, from, to, css = {}) => {
    const isDim = chosen && chosen !== from && chosen !== to;
    return svg("path", { class: isDim ? `${look} is-dim` : look, d: path(from, to), css });
  };
  const phase = { "animation-delay": `${-(performance.now() % PULSE_MS)}ms` }; // no jump at each look
  const spokes = agents
    .filter((agent) => agent.jid !== gateway)
    .map((agent) => line(agent.online ? "net-spoke" : "net-spoke is-away", gateway, agent.jid));
  const flows = flowsOf(requests, places, gateway).map(({ from, to, age }) => [
    line("net-flow", from, to, { "--fade": Math.max(0.2, 1 - age / SHOWN_S).toFixed(2) }),
    age < LIVE_S && line("net-pulse", from, to, phase),
  ]);
  return [...spokes, ...flows.flat().filter(Boolean)];
}

/** Who asked whom lately; of several, the youngest. People and their programs are in the middle. */
function flowsOf(requests, places, gateway) {
  const now = Date.now();
  const flows = new Map();
  for (const request of requests) {
    const age = (now - moment(request.at)) / 1000 - request.seconds;
    const from = places.has(request.asker) ? request.asker : gateway;
    const key = `${from}>${request.agent}`;
    if (age > SHOWN_S || flows.get(key)?.age <= age || !places.has(request.agent)) continue;
    flows.set(key, { from, to: request.agent, age });
  }
  return [...flows.values()];
}

function kindClass(agent) {
  return agent.kind in ICONS || agent.kind === "gateway" ? agent.kind : "other";
}

function line(agent) {
  if (agent === NOBODY) return t("people");
  if (!agent.online) return t("away");
  return agent.per_minute ? t("perMinute", number(agent.per_minute, agent.per_minute < 10 ? 1 : 0)) : t("quiet");
}

function sentence(agent) {
  const doing = agent.online ? t("doing", agent.running, agent.queued) : t("away");
  return `${short(agent.jid)}, ${t(`kind.${kindClass(agent)}`)}: ${doing}`;
}

export function short(jid) {
  const name = jid.split("@")[0];
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
}

function personGlyph() {
  return svg(
    "svg",
    { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" },
    svg("path", { d: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7.500 8a7.500 7.500 0 0 1 15 0" }),
  );
}
