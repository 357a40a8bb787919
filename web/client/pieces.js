// What stands in a cell. A game's skin says how: goban stones, crosses and noughts, atoms, or plain stones for others.
const DOTS = 4; // atoms a cell is drawn with at most, the moment before it bursts

function cross() {
  return draw('svg', { viewBox: '0 0 100 100' }, draw('path', { d: 'M26 26 74 74 M74 26 26 74' }));
}

function nought() {
  return draw('svg', { viewBox: '0 0 100 100' }, draw('circle', { cx: 50, cy: 50, r: 27 }));
}

const PIECES = {
  goban: () => [make('span', { class: 'azp-stone' })],
  marks: () => [cross(), nought()],
  atoms: () => Array.from({ length: DOTS }, () => make('span', { class: 'azp-atom' })),
  stones: () => [make('span', { class: 'azp-stone' })],
};

// The empty holder of a piece; `setPiece` fills it.
function makePiece(game) {
  return make('span', { class: 'azp-piece', 'aria-hidden': 'true' }, ...PIECES[game.skin]());
}

function setPiece(game, holder, value) {
  holder.dataset.owner = Math.sign(value);
  holder.dataset.count = Math.min(DOTS, Math.abs(value));
  if (game.skin === 'stones') holder.firstChild.textContent = Math.abs(value) > 1 ? game.symbols[String(value)] : '';
}

// A cell as a screen reader says it: "D5, black".
function cellLabel(game, cell, value) {
  const values = { cell: cellName(game, cell), count: Math.abs(value), symbol: game.symbols[String(value)] };
  if (value === 0) return t('cell.empty', values);
  values.player = playerName(game, Math.sign(value)).toLowerCase();
  if (game.skin === 'atoms') return t('cell.atoms', values);
  return t(Math.abs(value) > 1 ? 'cell.symbol' : 'cell.taken', values);
}

// The lines and star points under the stones of a goban, or between the cells of tic-tac-toe.
function makeLines(game) {
  const { rows, cols } = game;
  const svg = draw('svg', { class: 'azp-lines', viewBox: `0 0 ${cols} ${rows}`, 'aria-hidden': 'true' });
  const line = (x1, y1, x2, y2) => svg.append(draw('line', { x1, y1, x2, y2 }));
  if (game.skin === 'goban') {
    for (let row = 0; row < rows; row++) line(0.5, row + 0.5, cols - 0.5, row + 0.5);
    for (let col = 0; col < cols; col++) line(col + 0.5, 0.5, col + 0.5, rows - 0.5);
    const star = (x, y) => svg.append(draw('circle', { cx: x + 0.5, cy: y + 0.5, r: 0.09 }));
    if (rows >= 9 && cols >= 9) {
      for (const x of [2, cols - 3]) for (const y of [2, rows - 3]) star(x, y);
      if (rows % 2 && cols % 2) star((cols - 1) / 2, (rows - 1) / 2);
    }
  } else if (game.skin === 'marks') {
    for (let row = 1; row < rows; row++) line(0.06, row, cols - 0.06, row);
    for (let col = 1; col < cols; col++) line(col, 0.06, col, rows - 0.06);
  }
  return svg;
}
