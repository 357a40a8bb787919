// How to play, in a few pictures. A picture is a small board: cells row by row, '>' cells to ring.
const PICTURES = {
  chain_reaction: [
    { cols: 3, cells: [0, 0, 0, 0, 3, 0, 0, 0, 0], ring: [4] },
    { cols: 3, cells: [0, 0, 0, 0, 3, 2, 0, 0, -1], ring: [5] },
    { cols: 3, cells: [0, 0, 0, 0, 4, -2, 0, 0, 0], then: [0, 1, 0, 1, 0, 3, 0, 1, 0] },
    { cols: 3, cells: [4, 0, 0, 0, 0, 0, 0, 0, 0], then: [0, 1, 0, 1, 0, 0, 0, 0, 0] },
    { cols: 3, cells: [0, 1, 0, 2, 0, 1, 0, 1, 0] },
  ],
  gomoku: [
    { cols: 5, cells: [0, 0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0] },
    { cols: 5, cells: [1, 0, 0, -1, 0, 0, 1, -1, 0, 0, 0, -1, 1, 0, 0, 0, 0, -1, 1, 0, 0, 0, 0, 0, 1], ring: [0, 6, 12, 18, 24] },
  ],
  tictactoe: [
    { cols: 3, cells: [0, 0, -1, 0, 1, 0, 0, 0, 0] },
    { cols: 3, cells: [1, 0, -1, -1, 1, 0, 0, 0, 1], ring: [0, 4, 8] },
  ],
};

function picture(game, { cols, cells, ring = [] }) {
  const small = { ...game, cols, rows: cells.length / cols };
  const squares = cells.map((value, cell) => {
    const holder = makePiece(small);
    setPiece(small, holder, value);
    return make('span', { class: `azp-cell${ring.includes(cell) ? ' azp-winning' : ''}`, 'data-value': value }, holder);
  });
  const node = make('div', { class: `azp-board azp-small azp-${game.skin}`, 'aria-hidden': 'true' },
    make('div', { class: 'azp-field' }, makeLines(small), make('div', { class: 'azp-grid' }, ...squares)));
  node.style.setProperty('--rows', small.rows);
  node.style.setProperty('--cols', cols);
  return node;
}

function makeRules() {
  const summary = make('summary');
  const list = make('ol', { class: 'azp-rules' });
  const node = make('details', { class: 'azp-card' }, summary, list);

  function show(game) {
    const lines = t(`rules.${game.name}`) || [];
    node.hidden = !lines.length; // a new game explains itself elsewhere
    setText(summary, t('rules'));
    list.replaceChildren(...lines.map((line, i) => {
      const drawn = (PICTURES[game.name] || [])[i];
      const pictures = drawn ? [picture(game, drawn), ...(drawn.then ? [make('span', { class: 'azp-then', 'aria-hidden': 'true' }, '→'), picture(game, { cols: drawn.cols, cells: drawn.then })] : [])] : [];
      return make('li', {}, make('div', { class: 'azp-pictures' }, ...pictures), make('p', {}, line));
    }));
  }

  return { node, show };
}
