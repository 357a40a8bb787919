// Who stands how well: a bar for now, and a curve of the game so far. Everything here is value_first, -1 to 1.
const chance = (valueFirst) => Math.round(50 * (1 + valueFirst));

function latest(values, plies) {
  for (let ply = plies; ply >= 0; ply--) if (values[ply] !== undefined) return values[ply];
  return null;
}

function makeBar() {
  const [first, second] = [make('span', { class: 'azp-first' }), make('span', { class: 'azp-second' })];
  const part = make('i');
  const node = make('div', { class: 'azp-bar', role: 'img' }, first, make('div', { class: 'azp-track' }, part), second);

  // own: the side of the person here, 0 if there are two or none.
  function show(game, valueFirst, own) {
    const known = valueFirst !== null;
    const a = known ? chance(valueFirst) : 50;
    const named = (player) => (player === own ? t('you.too', { player: playerName(game, player) }) : playerName(game, player));
    const names = { first: named(1), second: named(-1), a, b: 100 - a };
    node.dataset.known = known;
    node.dataset.chance = a;
    setText(first, known ? `${names.first} ${a}%` : names.first);
    setText(second, known ? `${100 - a}% ${names.second}` : names.second);
    part.style.width = `${a}%`;
    node.setAttribute('aria-label', t(known ? 'chances' : 'chances.none', names));
  }

  return { node, show };
}

const PLOT = { left: 40, right: 312, top: 8, bottom: 98 }; // in the units of the drawing, 320 by 118

function makeCurve() {
  const { left, right, top, bottom } = PLOT;
  const height = (valueFirst) => (top + bottom) / 2 - (valueFirst * (bottom - top)) / 2;
  const title = make('h2');
  const whose = make('p', { class: 'azp-note' });
  const text = (x, y, anchor) => draw('text', { x, y, 'text-anchor': anchor });
  const axis = [1, 0, -1].flatMap((value) => [
    draw('line', { class: 'azp-curve-rule', x1: left, x2: right, y1: height(value), y2: height(value) }),
    Object.assign(text(left - 7, height(value) + 4, 'end'), { textContent: `${chance(value)}%` }),
  ]);
  const [begin, end] = [text(left, 116, 'middle'), text(right, 116, 'end')];
  const area = draw('path', { class: 'azp-curve-area' });
  const line = draw('path', { class: 'azp-curve-line' });
  const dot = draw('circle', { class: 'azp-curve-dot', r: 3.5 });
  const svg = draw('svg', { class: 'azp-curve', viewBox: '0 0 320 118', role: 'img' }, ...axis, begin, end, area, line, dot);
  const node = make('section', { class: 'azp-card' }, title, whose, svg);

  function show(game, values, plies) {
    const known = Object.keys(values).map(Number).filter((ply) => ply <= plies).sort((a, b) => a - b);
    const width = Math.max(plies, 8);
    const first = playerName(game, 1);
    setText(title, t('so.far'));
    setText(whose, t('curve.of', { first }));
    setText(begin, '0');
    setText(end, t('curve.moves', { plies: width }));
    svg.dataset.points = known.length;
    dot.toggleAttribute('hidden', !known.length);
    const points = known.map((ply) => [left + ((right - left) * ply) / width, height(values[ply])]);
    const path = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join(' L');
    line.setAttribute('d', points.length ? `M${path}` : '');
    area.setAttribute('d', points.length ? `M${points[0][0].toFixed(1)} ${height(0)} L${path} L${points[points.length - 1][0].toFixed(1)} ${height(0)} Z` : '');
    if (!points.length) { svg.setAttribute('aria-label', t('chances.none')); return; }
    const [x, y] = points[points.length - 1];
    dot.setAttribute('cx', x);
    dot.setAttribute('cy', y);
    svg.setAttribute('aria-label', t('curve', { first, plies, a: chance(values[known[known.length - 1]]) }));
  }

  return { node, show };
}
