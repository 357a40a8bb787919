// One board. The client owns the game: its moves live here and in localStorage; the server replays and answers.
// `element`, `props`, `trigger` and `watch` come from gr.HTML. 'ask' is the one event.
const game = FACTS_OF_THE_GAME;
const storageKey = `alphazero-${game.name}`;
const root = element.querySelector('.azp-board');
const remembered = load();
let moves = remembered.moves;
let side = remembered.side;        // the human's: 1, -1, or 0 for two people
let level = remembered.level;
let view = null;                   // the last answer
let busy = false;
let nonce = 0;
const PATIENCE = 60000;            // ms to wait for an answer; the first one may have to wait for compilation

function load() {
  const fresh = { moves: [], side: 1, level: game.defaultLevel };
  try {
    const stored = JSON.parse(localStorage.getItem(storageKey)) || {};
    if (Array.isArray(stored.moves) && stored.moves.every(Number.isInteger)) fresh.moves = stored.moves;
    if ([1, 0, -1].includes(stored.side)) fresh.side = stored.side;
    if (game.levels.includes(stored.level)) fresh.level = stored.level;
  } catch { /* private mode, or nothing there */ }
  return fresh;
}

function save() {
  try { localStorage.setItem(storageKey, JSON.stringify({ moves, side, level })); } catch { /* private mode */ }
}

function make(tag, attributes = {}, text = '') {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  return node;
}

function chooser(label, options, value, onChange) {
  const wrap = make('label', { class: 'azp-choice' }, label);
  const select = make('select', { 'aria-label': label });
  for (const [key, text] of options) select.append(make('option', { value: key }, text));
  select.value = value;
  select.addEventListener('change', () => onChange(select.value));
  wrap.append(select);
  return wrap;
}

const status = make('p', { class: 'azp-status', role: 'status', 'aria-live': 'polite' });
const grid = make('div', { class: `azp-grid azp-${game.name}`, role: 'grid', 'aria-label': `${game.title} board` });
grid.style.setProperty('--rows', game.rows);
grid.style.setProperty('--cols', game.cols);
const cellName = (cell) => String.fromCharCode(65 + cell % game.cols) + (1 + Math.floor(cell / game.cols));
const cells = [];
for (let row = 0; row < game.rows; row++) {
  const line = make('div', { role: 'row', class: 'azp-row' });
  for (let col = 0; col < game.cols; col++) {
    const cell = row * game.cols + col;
    const wrap = make('div', { role: 'gridcell', class: 'azp-cell' });
    const button = make('button', { type: 'button', 'data-cell': cell, tabindex: cell ? -1 : 0 });
    button.append(make('span', { class: 'azp-piece', 'aria-hidden': 'true' }));
    button.addEventListener('click', () => click(cell));
    button.addEventListener('keydown', (event) => walk(event, row, col));
    cells.push(button);
    wrap.append(button);
    line.append(wrap);
  }
  grid.append(line);
}

function walk(event, row, col) {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!step) return;
  event.preventDefault();
  const [r, c] = [row + step[0], col + step[1]];
  if (r < 0 || c < 0 || r >= game.rows || c >= game.cols) return;
  for (const button of cells) button.tabIndex = -1;
  cells[r * game.cols + c].tabIndex = 0;
  cells[r * game.cols + c].focus();
}

const controls = make('div', { class: 'azp-controls' });
const undo = make('button', { type: 'button', class: 'azp-undo' }, 'Undo');
const hint = make('button', { type: 'button', class: 'azp-hint' }, 'Hint');
const fresh = make('button', { type: 'button', class: 'azp-new' }, 'New game');
undo.addEventListener('click', takeBack);
hint.addEventListener('click', () => { if (view && view.winner === null) ask('hint'); });
fresh.addEventListener('click', () => { abandon(); moves = []; save(); ask('show'); });
controls.append(undo, hint, fresh,
  chooser('You play', [['1', game.players['1']], ['-1', game.players['-1']], ['0', 'both sides']], String(side),
    (value) => { abandon(); side = Number(value); save(); draw(view); next(); }),
  chooser('Level', game.levels.map((name) => [name, name]), level, (value) => { level = value; save(); }));
const thought = make('p', { class: 'azp-thought' });
root.append(status, grid, controls, thought);

function ask(what, sent = moves) {
  if (busy) return;
  busy = true;
  root.setAttribute('aria-busy', 'true');
  if (what !== 'show') status.textContent = 'The AI is thinking …';
  const asked = ++nonce;
  trigger('ask', { moves: sent, ask: what, level, nonce: asked });
  setTimeout(() => {
    if (!busy || nonce !== asked) return;
    abandon();
    say('No answer from the server. Your game is safe: try again, or reload the page.');
  }, PATIENCE);
}

// Stop waiting for an answer: whatever still comes is too late.
function abandon() {
  nonce++;
  busy = false;
  root.removeAttribute('aria-busy');
}

function click(cell) {
  if (!busy && !view) { ask('show'); return; }
  if (busy || view.winner !== null) return;
  if (side !== 0 && view.toMove !== side) return;
  if (view.illegal[cell]) { say(view.illegal[cell]); return; }
  ask('show', [...moves, cell]);
}

function takeBack() {
  if (!moves.length) return;
  abandon();
  let left = moves.length - 1;
  const mover = (count) => (count % 2 === 0 ? 1 : -1);
  while (side !== 0 && left > 0 && mover(left) !== side) left--;
  if (side === 0 || mover(left) === side) moves = moves.slice(0, left);
  save();
  ask('show');
}

function next() {
  if (view && view.winner === null && side !== 0 && view.toMove !== side) ask('reply');
}

function say(text) { status.textContent = text; }

function describe(value) {
  if (game.name !== 'chain_reaction') return value === 0 ? 'empty' : game.players[String(value)];
  return value === 0 ? 'empty' : `${game.players[String(Math.sign(value))]}, ${Math.abs(value)} atoms`;
}

function draw(answer) {
  view = answer;
  moves = answer.moves;
  save();
  const last = moves.length ? moves[moves.length - 1] : -1;
  cells.forEach((button, cell) => {
    const value = answer.cells[cell];
    button.dataset.value = value;
    button.classList.toggle('azp-last', cell === last);
    button.classList.toggle('azp-hinted', cell === answer.hint);
    button.setAttribute('aria-label', `${cellName(cell)}, ${describe(value)}`);
  });
  root.dataset.ply = moves.length;
  root.dataset.winner = answer.winner === null ? '' : answer.winner;
  if (answer.message) say(answer.message);
  else if (answer.winner === 0) say('A draw.');
  else if (answer.winner !== null) {
    const result = side === 0 ? '' : answer.winner === side ? 'You win! ' : 'The AI wins. ';
    say(`${result}Winner: ${game.players[String(answer.winner)]}.`);
  }
  else if (answer.hint !== undefined) say(`Hint: ${cellName(answer.hint)}.`);
  else say(`${game.players[String(answer.toMove)]} to move${answer.toMove === side ? ', your turn' : ''}.`);
  const t = answer.thought;
  const whose = answer.hint === undefined ? 'The AI' : 'Your side';
  thought.textContent = !t ? '' :
    t.proven === 'draw' ? 'A draw by force.' :
    t.proven ? `${whose} ${t.proven === 'win' ? 'wins' : 'loses'} by force within ${t.plies} ${t.plies === 1 ? 'ply' : 'plies'}.` :
    `${whose} has ${t.chance} % by ${t.simulations} simulations in ${t.seconds < 0.1 ? 'under 0.1' : t.seconds} s.`;
}

watch('value', () => {
  const answer = props.value;
  if (!answer || answer.nonce !== nonce) return;
  busy = false;
  root.removeAttribute('aria-busy');
  draw(answer);
  if (answer.ok) next();
});

root.dataset.ready = 'true';
ask('show');
