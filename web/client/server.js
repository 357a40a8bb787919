// Talking to the server. An answer is checked before anybody draws it; whatever goes wrong becomes a Trouble, with the
// code of the text that tells about it and, where trying again by itself makes sense, in how many seconds.
const EVENTS = `${(window.gradio_config?.root || '').replace(/\/$/, '')}${window.gradio_config?.api_prefix || '/gradio_api'}/run`;
const PATIENCE = 90000; // ms; the first move after a cold start waits for compilation
const GLANCE = 250;     // ms between two looks at a running search
const SOON = 1200;      // ms without an answer before the board says why

class Trouble extends Error {
  constructor(code, { seconds = null, ...values } = {}) {
    super(code);
    Object.assign(this, { code, seconds, values: { ...values, seconds } });
  }
}

async function post(event, request, signal) {
  let response;
  try {
    response = await fetch(`${EVENTS}/${event}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ data: [request] }),
      signal,
    });
  } catch (error) {
    if (signal.aborted && signal.reason?.name !== 'TimeoutError') throw error;
    throw new Trouble('gone', { seconds: 2 });
  }
  if ([429, 502, 503, 504].includes(response.status)) {
    const seconds = Number(response.headers.get('Retry-After')) || 2;
    throw new Trouble('busy', { seconds: Math.min(30, Math.max(1, seconds)) });
  }
  if (!response.ok) throw new Trouble('stumbled');
  try {
    return (await response.json()).data[0];
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Trouble('nonsense');
  }
}

// AbortSignal.any, which a tablet of 2023 does not have.
function eitherOf(...signals) {
  const either = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) either.abort(signal.reason);
    else signal.addEventListener('abort', () => either.abort(signal.reason), { once: true });
  }
  return either.signal;
}

const isCell = (game) => (cell) => Number.isInteger(cell) && cell >= 0 && cell < game.rows * game.cols;

function makesSense(game, answer) {
  return answer && Array.isArray(answer.moves) && answer.moves.every(isCell(game))
    && Array.isArray(answer.cells) && answer.cells.length === game.rows * game.cols
    && answer.cells.every(Number.isInteger) && [1, -1].includes(answer.toMove)
    && [null, 0, 1, -1].includes(answer.winner) && Array.isArray(answer.legal) && answer.legal.every(isCell(game))
    && answer.reasons && Object.values(answer.reasons).every(Array.isArray);
}

// The server's answer to one request about a game. `glance` hears about the search while it runs, if it takes a while.
async function askServer(game, request, signal, glance = null) {
  const id = crypto.getRandomValues(new Uint32Array(4)).reduce((text, n) => text + n.toString(16).padStart(8, '0'), '');
  const done = new AbortController();
  const both = eitherOf(signal, AbortSignal.timeout(PATIENCE));
  if (glance) watchSearch(id, eitherOf(signal, done.signal), glance);
  try {
    const answer = await post('ask', { game: game.name, ...request, id }, both);
    if (!answer || typeof answer.ok !== 'boolean') throw new Trouble('nonsense');
    if (!answer.ok && answer.code === 'busy') throw new Trouble('busy', { seconds: Math.max(1, answer.seconds || 2) });
    if (!answer.ok && answer.code === 'badRequest') throw new Trouble('badRequest');
    if (!answer.ok && answer.code !== 'badMove') throw new Trouble('stumbled');
    if (!makesSense(game, answer)) throw new Trouble('nonsense');
    return answer;
  } finally {
    done.abort();
  }
}

async function watchSearch(id, signal, glance) {
  const began = performance.now();
  while (!signal.aborted) {
    await pause(GLANCE, signal);
    if (signal.aborted || !glance.wanted(performance.now() - began)) continue;
    try {
      const seen = await post('peek', { id }, signal);
      if (!signal.aborted) glance.seen(seen, performance.now() - began);
    } catch { /* only a look: the answer itself says what is wrong */ }
  }
}
