/**
 * Elements without HTML strings: text goes in as text nodes only, so whatever a memory holds stays text.
 */

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. `on...` props are listeners; null, undefined and false are left out, among children too. */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

/** Append children, flattened, without the empty ones. */
export function add(element, ...children) {
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** `element` with nothing but these children. */
export function only(element, ...children) {
  element.replaceChildren();
  return add(element, ...children);
}

/**
 * Bring the children of `parent` into the order of `wanted`, touching only what differs: what stays in its place keeps
 * its focus, its selection and its scroll.
 */
export function arrange(parent, wanted) {
  const keep = new Set(wanted);
  for (const child of [...parent.children]) if (!keep.has(child)) child.remove();
  wanted.forEach((child, at) => {
    if (parent.children[at] !== child) parent.insertBefore(child, parent.children[at] ?? null);
  });
}

/** A stored setting; a browser that refuses storage only forgets it. */
export function stored(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Keep a setting, or with null drop it. */
export function store(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // storage is full or refused: the page works without
  }
}
