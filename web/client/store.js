// What the browser remembers: each game by itself, and the choices for the page. The server remembers nothing.
// A tab remembers its own game first, so that two tabs don't take each other's; a new tab goes on with the last one.
const STORES = [() => sessionStorage, () => localStorage];
const SIDES = ['first', 'second', 'both', 'watch'];

function recall(name) {
  for (const store of STORES) {
    try {
      const stored = JSON.parse(store().getItem(`alphazero.${name}`));
      if (stored && typeof stored === 'object') return stored;
    } catch { /* private mode, or something that is not ours */ }
  }
  return {};
}

function remember(name, value) {
  for (const store of STORES) {
    try { store().setItem(`alphazero.${name}`, JSON.stringify(value)); } catch { /* private mode */ }
  }
}

function recallGame(game) {
  const stored = recall(`game.${game.name}`);
  const moves = Array.isArray(stored.moves) && stored.moves.every(Number.isInteger) ? stored.moves : [];
  const values = {}; // value_first by ply, as far as somebody has looked
  for (const [ply, value] of Object.entries(stored.values || {})) {
    if (/^\d+$/.test(ply) && Number.isFinite(value)) values[ply] = Math.max(-1, Math.min(1, value));
  }
  return {
    moves,
    values,
    side: SIDES.includes(stored.side) ? stored.side : 'first',
    level: stored.level in game.levels ? stored.level : FACTS.defaultLevel,
    resigned: [1, -1].includes(stored.resigned) ? stored.resigned : 0,
    paused: stored.paused === true,
    linked: stored.linked === true, // it came by a link, and nobody here has played on
  };
}

function rememberGame(game, { moves, values, side, level, resigned, paused, linked }) {
  remember(`game.${game.name}`, { moves, values, side, level, resigned, paused, linked });
}

// A link to a position: #gomoku/E5-D4-F6. Cell names, so that people can read it.
function linkTo(game, moves) {
  const names = moves.map((move) => cellName(game, move)).join('-');
  return `${location.href.split('#')[0]}#${game.name}/${names}`;
}

// {game, moves} of this page's address; null if it holds no position, {} if it holds one that can't be read.
function readLink() {
  if (location.hash.length < 2) return null;
  const [, name, path] = /^#(\w+)\/([A-Z0-9-]*)$/i.exec(location.hash) || [];
  const game = FACTS.games.find((one) => one.name === name);
  const moves = game && path !== '' ? path.toUpperCase().split('-').map((cell) => cellNumber(game, cell)) : [];
  return !game || moves.includes(null) ? {} : { game, moves };
}
