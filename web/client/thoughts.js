// "Show its thoughts": what the search knows, on the cells and as a table, also while it still thinks.
const ROWS_SHOWN = 8;
const OVERLAYS = ['n', 'q', 'p'];
const MINUS = '−';

function signed(value) {
  const text = Math.abs(value).toFixed(2);
  return text === '0.00' ? text : (value < 0 ? MINUS : '+') + text;
}

const percent = (share) => `${Math.round(100 * share)}`;
const short = (count) => (count < 1000 ? String(count) : `${(count / 1000).toFixed(count < 9950 ? 1 : 0)}k`);

// Each move's three figures as the cell shows them, and how strongly the cell is tinted for each (0 to 1).
function figures(thought) {
  const most = Math.max(1, ...thought.moves.map((move) => move.n));
  const likeliest = Math.max(0.01, ...thought.moves.map((move) => move.p));
  return thought.moves.map((move) => ({
    cell: move.cell,
    n: { text: short(move.n), heat: move.n / most },
    q: { text: move.proven ? t(`proven.${move.proven}`) : move.n ? signed(move.q) : '–', heat: move.n ? (1 + move.q) / 2 : 0 },
    p: { text: `${percent(move.p)}%`, heat: move.p / likeliest },
  }));
}

// Atoms are added to cells that are taken; where a stone or a mark stands it stays as it is.
const isCovered = (board, cell) => board.game.skin !== 'atoms' && board.cells[cell].node.dataset.value !== '0';

function drawOverlay(board, thought, mode) {
  board.node.classList.toggle('azp-thinking-aloud', Boolean(thought));
  board.node.dataset.overlay = thought ? mode : '';
  for (const { over } of board.cells) over.hidden = true;
  if (!thought) return;
  const others = OVERLAYS.filter((one) => one !== mode);
  for (const move of figures(thought)) {
    if (isCovered(board, move.cell)) continue;
    const { over } = board.cells[move.cell];
    const [main, second, third] = over.children;
    over.hidden = false;
    over.style.setProperty('--heat', move[mode].heat.toFixed(3));
    over.classList.toggle('azp-chosen', move.cell === thought.line[0]);
    setText(main, move[mode].text);
    setText(second, `${others[0].toUpperCase()} ${move[others[0]].text}`);
    setText(third, `${others[1].toUpperCase()} ${move[others[1]].text}`);
  }
}

function makeThoughts(onChange) {
  const chosen = recall('page');
  let on = chosen.thoughts === true;
  let mode = OVERLAYS.includes(chosen.overlay) ? chosen.overlay : 'n';
  const toggle = make('input', { type: 'checkbox', role: 'switch', class: 'azp-switch', onchange: change });
  const toggleText = make('span');
  const radios = OVERLAYS.map((key) => {
    const input = make('input', { type: 'radio', name: 'azp-overlay', value: key, onchange: change });
    const text = make('span');
    return { key, input, text, node: make('label', {}, input, text) };
  });
  const modes = make('fieldset', { class: 'azp-modes' }, make('legend', { class: 'azp-hidden' }), ...radios.map((r) => r.node));
  const about = make('p', { class: 'azp-about' });
  const head = make('tr', {}, ...Array.from({ length: 5 }, () => make('th', { scope: 'col' })));
  const rows = make('tbody');
  const caption = make('caption', { class: 'azp-hidden' });
  const table = make('table', { class: 'azp-table' }, caption, make('thead', {}, head), rows);
  const expected = make('p', { class: 'azp-expected' });
  const explain = make('dl', { class: 'azp-explain' });
  const body = make('div', { class: 'azp-thoughts-body' }, modes, about, table, expected, explain);
  const node = make('section', { class: 'azp-card azp-thoughts' },
    make('label', { class: 'azp-toggle' }, toggleText, toggle), body);
  toggle.checked = on;
  for (const radio of radios) radio.input.checked = radio.key === mode;

  function change() {
    on = toggle.checked;
    mode = radios.find((radio) => radio.input.checked).key;
    remember('page', { ...recall('page'), thoughts: on, overlay: mode });
    onChange();
  }

  function row(game, move) {
    const value = move.proven ? t(`proven.${move.proven}`) : move.n ? signed(move.q) : `(${signed(move.q)})`;
    return make('tr', {}, make('th', { scope: 'row' }, cellName(game, move.cell)), make('td', {}, number(move.n)),
      make('td', {}, value), make('td', {}, `${percent(move.p)}%`), make('td', {}, signed(move.sum)));
  }

  // thought: null or what the server sent; kind: 'live', 'reply' or 'hint'; over: the board shows how the game ended.
  function show(board, thought, kind, over) {
    const { game } = board;
    body.hidden = !on;
    node.dataset.kind = on && thought ? kind : '';
    drawOverlay(board, on && !over ? thought : null, mode);
    for (const part of [modes, table, expected, explain]) part.hidden = !thought;
    if (!on) return;
    if (!thought) { setText(about, t('thoughts.none')); return; }
    const values = {
      player: playerName(game, thought.toMove), cell: cellName(game, thought.action), plies: thought.plies,
      simulations: number(thought.simulations), seconds: number(Math.max(0.01, thought.seconds)),
    };
    const said = [t(`thoughts.${kind}`, values), t(thought.simulations === 1 ? 'effort.one' : 'effort', values)];
    if (thought.proven === 'win' && thought.plies === 1) said.push(t('forced.at.once', values));
    else if (thought.proven) said.push(t(`forced.${thought.proven}`, values));
    if (kind === 'reply' && thought.action !== thought.line[0]) said.push(t('thoughts.other'));
    setText(about, said.join(' · '));
    rows.replaceChildren(...thought.moves.slice(0, ROWS_SHOWN).map((move) => row(game, move)));
    setText(expected, t('expected', { line: thought.line.map((cell) => cellName(game, cell)).join(' → ') }));
    explain.replaceChildren(...['n', 'q', 'p', 'sum'].flatMap((key) => [
      make('dt', {}, key === 'sum' ? t('table.sum') : key.toUpperCase()), make('dd', {}, t(`explain.${key}`, { c: number(game.cPuct) }))]));
  }

  function label() {
    setText(toggleText, t('thoughts'));
    setText(modes.firstChild, t('overlay'));
    for (const radio of radios) setText(radio.text, t(`overlay.${radio.key}`));
    [t('table.move'), 'N', 'Q', 'P', t('table.sum')].forEach((text, i) => setText(head.children[i], text));
    setText(caption, t('table'));
  }

  return { node, show, label, get on() { return on; } };
}
