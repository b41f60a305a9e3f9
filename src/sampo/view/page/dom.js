// Making elements, and numbers for people. Everything that a policy or an environment wrote goes
// through `text` or `append`, so it is shown as text and never read as HTML.

const $ = (id) => document.getElementById(id);

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'text') node.textContent = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const el = (tag, attributes = {}, ...children) =>
  build(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  build(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

const known = (value) => value !== null && value !== undefined;

function num(value, digits = 4) {
  if (!known(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  const rounded = Number(value.toPrecision(digits));
  const text =
    size < 1e-3 || size >= 1e7
      ? rounded.toExponential().replace('e+', 'e')
      : Number.isInteger(value)
        ? value.toLocaleString('en')
        : String(rounded);
  return text.replace(/^-/, '−');
}

const signed = (value, digits) => (known(value) && value > 0 ? '+' : '') + num(value, digits);
const many = (count, word) => `${num(count)} ${word}${count === 1 ? '' : 's'}`;
const words = (name) => name.replaceAll('_', ' ');

function duration(seconds) {
  if (seconds < 90) return `${num(seconds, 3)} s`;
  if (seconds < 5400) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

// Moves by arrow keys within a list of `count`; undefined for a key that is not ours.
function moved(key, at, count, back = 'ArrowUp', forth = 'ArrowDown') {
  const to = { [back]: at - 1, [forth]: at + 1, Home: 0, End: count - 1 }[key];
  return to === undefined ? undefined : Math.min(Math.max(to, 0), count - 1);
}
