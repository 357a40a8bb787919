// One board of buttons: drawn once, then only changed, so that the focus stays where it is.
const WAVES_IN_ALL = 2600; // ms; a long chain runs faster
const WAVE = [110, 320];   // ms of one wave, at least and at most

function makeBoard(game, onCell) {
  const cells = [];
  const grid = make('div', { class: 'azp-grid', role: 'grid' });
  const flights = make('div', { class: 'azp-flights', 'aria-hidden': 'true' });
  for (let row = 0; row < game.rows; row++) {
    const line = make('div', { class: 'azp-row', role: 'row' });
    for (let col = 0; col < game.cols; col++) {
      const cell = row * game.cols + col;
      const holder = makePiece(game);
      const over = make('span', { class: 'azp-over', 'aria-hidden': 'true' }, make('b'), make('i'), make('i'));
      const node = make('button', {
        type: 'button', class: 'azp-cell', 'data-cell': cell, tabindex: cell ? -1 : 0,
        onclick: () => onCell(cell), onkeydown: (event) => walk(event, row, col), onfocus: () => rove(cell),
      }, holder, over);
      cells.push({ node, holder, over });
      line.append(make('div', { role: 'gridcell', class: 'azp-square' }, node));
    }
    grid.append(line);
  }
  const letters = Array.from({ length: game.cols }, (_, col) => make('span', {}, String.fromCharCode(65 + col)));
  const numbers = Array.from({ length: game.rows }, (_, row) => make('span', {}, String(row + 1)));
  const node = make('div', { class: `azp-board azp-${game.skin}` },
    make('div', { class: 'azp-letters', 'aria-hidden': 'true' }, ...letters),
    make('div', { class: 'azp-numbers', 'aria-hidden': 'true' }, ...numbers),
    make('div', { class: 'azp-field' }, makeLines(game), grid, flights));
  node.style.setProperty('--rows', game.rows);
  node.style.setProperty('--cols', game.cols);
  let showing = 0; // counts what was asked to be shown: an older animation gives way
  let speech = null;

  function rove(cell) {
    for (const one of cells) one.node.tabIndex = -1;
    cells[cell].node.tabIndex = 0;
  }

  function walk(event, row, col) {
    const last = { row: game.rows - 1, col: game.cols - 1 };
    const to = {
      ArrowUp: [row - 1, col], ArrowDown: [row + 1, col], ArrowLeft: [row, col - 1], ArrowRight: [row, col + 1],
      Home: [row, 0], End: [row, last.col], PageUp: [0, col], PageDown: [last.row, col],
    }[event.key];
    if (!to || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const [r, c] = [Math.max(0, Math.min(last.row, to[0])), Math.max(0, Math.min(last.col, to[1]))];
    cells[r * game.cols + c].node.focus();
  }

  function setCells(values) {
    values.forEach((value, cell) => {
      cells[cell].node.dataset.value = value;
      setPiece(game, cells[cell].holder, value);
    });
  }

  // The position with its marks: the last move, the winning line, the hint. Returns when all is drawn.
  async function show(view, { waves = [], hint = null } = {}) {
    const turn = ++showing;
    flights.replaceChildren();
    const last = view.moves.length ? view.moves[view.moves.length - 1] : -1;
    node.classList.toggle('azp-over-now', false);
    mark(last, [], null);
    if (waves.length && !calm.matches) {
      node.classList.add('azp-bursting');
      const time = Math.max(WAVE[0], Math.min(WAVE[1], WAVES_IN_ALL / waves.length));
      for (const wave of waves) {
        setCells(wave.cells);
        await burst(wave, time);
        if (turn !== showing) return;
      }
    }
    node.classList.remove('azp-bursting');
    setCells(view.cells);
    mark(last, view.winning || [], hint);
    node.classList.toggle('azp-over-now', view.winner !== null);
    speech = { view, last };
    label();
  }

  // Whatever is still flying is no longer wanted.
  function stop() {
    showing++;
    flights.replaceChildren();
  }

  // Atoms fly from each bursting cell to its four sides; those over the edge fade.
  async function burst(wave, time) {
    const [width, height] = [flights.clientWidth / game.cols, flights.clientHeight / game.rows];
    const flying = [];
    for (const cell of wave.bursting) {
      const [row, col] = [Math.floor(cell / game.cols), cell % game.cols];
      cells[cell].holder.dataset.count = 0;
      for (const [dRow, dCol] of [[-1, 0], [1, 0], [0, -1], [0, 1]]) {
        const inside = row + dRow >= 0 && row + dRow < game.rows && col + dCol >= 0 && col + dCol < game.cols;
        const atom = make('span', { class: 'azp-atom azp-flying', 'data-owner': Math.sign(wave.cells[cell]) });
        atom.style.left = `${((col + 0.5) / game.cols) * 100}%`;
        atom.style.top = `${((row + 0.5) / game.rows) * 100}%`;
        flights.append(atom);
        const to = `translate(${dCol * width}px, ${dRow * height}px)`;
        flying.push(atom.animate([
          { transform: 'translate(0, 0) scale(1.15)', opacity: 1 },
          { transform: `${to} scale(${inside ? 1 : 0.4})`, opacity: inside ? 1 : 0 },
        ], { duration: time, easing: 'cubic-bezier(.3, .1, .3, 1)', fill: 'forwards' }).finished.catch(() => {}));
      }
    }
    await Promise.race([Promise.all(flying), pause(time + 200)]); // a tab in the background animates nothing
    flights.replaceChildren();
  }

  function mark(last, winning, hint) {
    cells.forEach((one, cell) => {
      one.node.classList.toggle('azp-last', cell === last);
      one.node.classList.toggle('azp-winning', winning.includes(cell));
      one.node.classList.toggle('azp-hinted', cell === hint);
    });
  }

  // Labels again, as after a change of language.
  function label() {
    grid.setAttribute('aria-label', t('board', { game: word(game.title) }));
    if (!speech) return;
    speech.view.cells.forEach((value, cell) => {
      const text = cellLabel(game, cell, value);
      cells[cell].node.setAttribute('aria-label', cell === speech.last ? t('cell.last', { label: text }) : text);
    });
  }

  // Who may click where: a pointer and a shadow of the piece over playable cells.
  function invite(legal, mover) {
    node.dataset.mover = mover;
    cells.forEach((one, cell) => one.node.classList.toggle('azp-playable', legal.includes(cell)));
  }

  label();
  return { game, node, cells, show, stop, label, invite };
}
