// Small helpers to make elements. Text goes in by textContent only: nothing from outside is ever parsed as HTML.
const root = element.querySelector('.azp');
const SVG = 'http://www.w3.org/2000/svg';
const calm = window.matchMedia('(prefers-reduced-motion: reduce)');
const inTheDark = window.matchMedia('(prefers-color-scheme: dark)');

// By hand, because Gradio rewrites the CSS it is given and loses rules in @media.
if (!document.getElementById('azp-style')) {
  document.head.append(Object.assign(document.createElement('style'), { id: 'azp-style', textContent: FACTS.css }));
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const button = (name, onclick) => make('button', { type: 'button', class: `azp-button azp-${name}`, onclick });

// Writing the same text again would make a screen reader say it again.
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}
