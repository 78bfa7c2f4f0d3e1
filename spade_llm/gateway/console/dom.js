// Elements, built from text and attributes only: what others wrote can never become markup.

const SVG = "http://www.w3.org/2000/svg";
const SCHEMES = new Set(["http:", "https:", "mailto:", "blob:"]);

/**
 * @param {string} tag
 * @param {object|null} props attributes by name (null and false: none; true: present), and
 *   `on` {event: listener}, `data` {name: value}, `css` {property: value} (set through the CSSOM).
 * @param {...(Node|string|number|null|false|Array)} children strings become text
 */
export function el(tag, props, ...children) {
  return furnished(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return furnished(document.createElementNS(SVG, tag), props, children);
}

/** Replaces everything in `node`. */
export function fill(node, ...children) {
  node.replaceChildren(...nodes(children));
  return node;
}

/** Whether a link may lead there; relative addresses may. */
export function isSafeLink(address) {
  try {
    return SCHEMES.has(new URL(address, document.baseURI).protocol);
  } catch {
    return false;
  }
}

function furnished(node, props, children) {
  const { on = {}, data = {}, css = {}, ...attributes } = props ?? {};
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value);
  for (const [event, listener] of Object.entries(on)) node.addEventListener(event, listener);
  for (const [name, value] of Object.entries(data)) node.dataset[name] = value;
  for (const [name, value] of Object.entries(css)) node.style.setProperty(name, value);
  node.append(...nodes(children));
  return node;
}

function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (/^on|^style$|^srcdoc$/i.test(name)) throw new Error(`${name}: not as an attribute`);
  if (/^(href|src|action)$/i.test(name) && !isSafeLink(value)) throw new Error(`${name}: ${value}`);
  if (name === "value") node.value = value;
  node.setAttribute(name, value === true ? "" : String(value));
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}
