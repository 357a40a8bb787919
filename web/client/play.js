// The game under way. The client owns it: its moves live here and in the browser's store; the server replays them and
// answers. One request at a time; whatever makes it pointless (undo, another game, a closed page) hangs up on it.
const WATCH_PACE = [250, 900]; // ms between two moves of the AI against itself, with and without reduced motion
const mover = (ply) => (ply % 2 ? -1 : 1);

function makePlay(game, parts, onChange) {
  const board = makeBoard(game, click);
  const played = recallGame(game);
  let view = null;       // the server's last word about the position
  let thought = null;    // { kind, about }: what is shown of the AI's thinking
  let hint = null;
  let verdict = null;    // { ply, winner, plies }: who wins by force after so many moves, and within how many more
  let notice = null;     // () => text: something to be said besides whose turn it is
  let waiting = null;    // { what, controller, started, trouble, wake } of the request under way
  let painted = Promise.resolve();
  let closed = false;    // another game is open now: what still comes in is not for the page

  const winner = () => (played.resigned ? -played.resigned : view ? view.winner : null);
  const own = () => ({ first: 1, second: -1 })[played.side] || 0;
  const aiToMove = () => view && winner() === null && (played.side === 'watch' || (own() !== 0 && view.toMove !== own()));
  const name = (player) => playerName(game, player);
  const yours = () => (played.linked ? 0 : own()); // whose game it is: one that came by a link was somebody else's

  // ---- asking the server

  function hangUp() {
    waiting?.controller.abort();
    waiting = null;
  }

  async function send(what, moves) {
    hangUp();
    const turn = waiting = { what, controller: new AbortController(), trouble: null, preparing: false, wake: null };
    const { signal } = turn.controller;
    tell();
    while (waiting === turn) {
      try {
        const request = { moves, ask: what, level: played.level };
        const answer = await askServer(game, request, signal, glance(turn));
        if (waiting === turn) await take(what, answer);
        return;
      } catch (trouble) {
        if (waiting !== turn) return;
        if (!(trouble instanceof Trouble)) trouble = new Trouble('nonsense'); // eslint-disable-line no-ex-assign
        turn.trouble = trouble;
        turn.preparing = false;
        tell();
        await Promise.race([new Promise((resolve) => { turn.wake = resolve; }),
          trouble.seconds === null ? new Promise(() => {}) : pause(1000 * trouble.seconds * (0.8 + 0.4 * Math.random()), signal)]);
        turn.trouble = null;
        if (waiting === turn) tell();
      }
    }
  }

  const glance = (turn) => ({
    wanted: (waited) => waiting === turn && ((parts.thoughts.on && turn.what !== 'show') || waited > SOON),
    seen: (seen, waited) => {
      if (waiting !== turn || !seen) return;
      turn.preparing = seen.stage === 'waiting' && waited > SOON;
      if (seen.stage === 'thinking' && seen.thought) thought = { kind: 'live', about: seen.thought };
      tell();
      showThought();
    },
  });

  // An answer has come: the game is what it says, the drawing follows as fast as its explosions run.
  async function take(what, answer) {
    const step = answer.moves.length === played.moves.length + 1 || (view && answer.moves.length === view.moves.length + 1);
    const waves = step && view ? answer.waves || [] : [];
    const turn = waiting = { what: 'paint', bursting: waves.length > 0, controller: new AbortController() };
    view = answer;
    if (answer.moves.length > played.moves.length) played.linked = false;
    played.moves = answer.moves;
    if (answer.code === 'badMove') { // a link or a store gone wrong: the person takes it from here
      notice = () => t('badMove', { number: answer.number });
      if (own()) played.side = answer.toMove === 1 ? 'first' : 'second';
    }
    hint = what === 'hint' ? answer.hint : null;
    learn(what, answer);
    save();
    tell();
    const shown = painted.then(() => board.show(view, { waves, hint }));
    painted = shown.catch(() => {});
    if (aiToMove() && what === 'show') { waiting = null; next(shown); return; }
    await shown;
    if (waiting !== turn) return;
    waiting = null;
    tell();
    next(shown);
  }

  // What the answer says about the chances goes into the curve.
  function learn(what, answer) {
    const { moves, values } = played;
    const told = answer.thought;
    if (told) {
      judged(told, what === 'reply');
      thought = { kind: what === 'reply' ? 'reply' : 'hint', about: told };
      values[told.ply] = told.valueFirst;
      if (what === 'reply' && told.afterFirst !== null) values[told.ply + 1] = told.afterFirst;
    } else if (what === 'show') {
      thought = null;
    }
    if (answer.winner !== null) values[moves.length] = answer.winner;
    for (const ply of Object.keys(values)) if (Number(ply) > moves.length) delete values[ply];
  }

  // What was proven of a position holds after a reply too, if that was the winning move: low levels may play another.
  function judged(told, replied) {
    const won = { win: told.toMove, loss: -told.toMove }[told.proven];
    const kept = !replied || told.proven !== 'win' || told.action === told.line[0];
    if (!won && !replied && verdict?.ply === told.ply) return; // a shorter look takes nothing back
    verdict = won && kept ? { ply: told.ply + replied, winner: won, plies: told.plies - replied } : null;
  }

  function forced() {
    if (!verdict || verdict.ply !== played.moves.length || winner() !== null) return '';
    if (played.side === 'both' && !parts.thoughts.on) return ''; // two people want no coach they have not asked for
    const values = { player: name(verdict.winner), plies: verdict.plies };
    return t(verdict.plies === 1 ? 'forced.at.once' : 'forced', values);
  }

  async function next(shown) {
    if (!aiToMove() || played.paused) { judge(); return; }
    if (played.side === 'watch' && view.moves.length) {
      const turn = waiting = { what: 'pace', controller: new AbortController() };
      tell();
      await shown;
      await pause(WATCH_PACE[calm.matches ? 0 : 1], turn.controller.signal);
      if (waiting !== turn) return;
    }
    send('reply', played.moves);
  }

  // Nobody has looked at this position yet (two people, a link): a short look for the bar and the curve.
  async function judge() {
    const { moves } = played;
    if (waiting || winner() !== null || !moves.length || played.values[moves.length] !== undefined) return;
    const controller = new AbortController();
    try {
      const answer = await askServer(game, { moves, ask: 'judge' }, controller.signal);
      if (played.moves !== moves || !answer.thought) return;
      played.values[moves.length] = answer.thought.valueFirst;
      judged(answer.thought, false);
      save();
      tell();
    } catch { /* only a figure */ }
  }

  // ---- what the person does

  function click(cell) {
    notice = null;
    if (!view) { retry(); return; }
    if (winner() !== null) notice = () => t('over');
    else if (played.side === 'watch') notice = () => t('watching');
    else if (waiting?.what === 'hint') { send('show', [...played.moves, cell]); return; }
    else if (waiting?.trouble) { retry(); return; }
    else if (aiToMove()) notice = () => t('wait');
    else if (waiting) notice = () => t('loading');
    else if (!view.legal.includes(cell)) {
      const why = Object.keys(view.reasons).find((reason) => view.reasons[reason].includes(cell)) || '';
      notice = () => t('illegal', { cell: cellName(game, cell), why: word(why) });
    } else { send('show', [...played.moves, cell]); return; }
    tell();
  }

  function go(moves) {
    hangUp();
    board.stop();
    painted = Promise.resolve();
    notice = null;
    played.moves = moves;
    played.resigned = 0;
    played.linked = false;
    thought = null;
    hint = null;
    verdict = null;
    save();
    return send('show', moves);
  }

  const actions = {
    fresh() { played.values = {}; played.paused = false; go([]); },
    undo() {
      const { moves, side } = played;
      if (played.resigned) { delete played.values[moves.length]; go(moves); return; }
      let left = moves.length - 1;
      while (own() && left > 0 && mover(left) !== own()) left--;
      if (left < 0 || (own() && mover(left) !== own())) { notice = () => t('nothing.back'); tell(); return; }
      if (side === 'watch') played.paused = true;
      go(moves.slice(0, left));
    },
    hint() {
      if (waiting || !view || winner() !== null || played.side === 'watch') return;
      notice = null;
      send('hint', played.moves);
    },
    resign() {
      if (!view || winner() !== null) return;
      hangUp();
      notice = null;
      played.resigned = own() || view.toMove;
      played.linked = false;
      played.values[played.moves.length] = winner();
      hint = null;
      painted = painted.then(() => board.show(view));
      save();
      tell();
    },
    pause() {
      played.paused = !played.paused;
      hangUp();
      save();
      tell();
      next(painted);
    },
    side(chosen) {
      hangUp();
      notice = null;
      Object.assign(played, { side: chosen, paused: false });
      save();
      tell();
      if (view) next(painted);
      else go(played.moves);
    },
    level(chosen) {
      played.level = chosen;
      save();
      if (waiting?.what === 'reply') send('reply', played.moves); // whoever tires of a long search need not sit it out
      else tell();
    },
  };

  function retry() {
    if (waiting?.wake) waiting.wake();
    else if (!waiting) send('show', played.moves);
  }

  // A position from a link: whoever opens it is to move, so that nothing happens by itself.
  function open(moves) {
    Object.assign(played, { values: {}, side: moves.length % 2 ? 'second' : 'first', paused: false });
    go(moves);
    played.linked = true;
    save();
    say('linked');
  }

  function say(key) {
    notice = () => t(key);
    tell();
  }

  // ---- what the person sees

  function save() { rememberGame(game, played); }

  function headline() {
    const won = winner();
    if (won === 0) return t('draw');
    if (won !== null) return yours() ? t(won === own() ? 'won.you' : 'won.ai') : t('won.player', { player: name(won) });
    if (!view) return t('loading');
    if (waiting?.what === 'hint') return t('hinting');
    if (waiting?.bursting) return t('playing', { player: name(mover(played.moves.length - 1)), cell: cellName(game, played.moves[played.moves.length - 1]) });
    if (played.side === 'watch') return t(played.paused ? 'paused' : 'turn.player', { player: name(view.toMove) });
    if (aiToMove()) return t('thinking');
    return own() ? t('turn.you') : t('turn.player', { player: name(view.toMove) });
  }

  function detail() {
    if (waiting?.trouble) return t(waiting.trouble.code, waiting.trouble.values);
    if (waiting?.preparing) return t('preparing');
    if (notice) return notice();
    if (played.resigned) return t('resigned', { player: name(played.resigned) });
    if (hint !== null) return join(t('hinted', { cell: cellName(game, hint) }), forced());
    const { moves } = played;
    if (winner() !== null) return t('ended', { plies: moves.length });
    if (moves.length) return join(t('played', { player: name(mover(moves.length - 1)), cell: cellName(game, moves[moves.length - 1]) }), forced());
    return own() ? t('you.are', { player: name(own()) }) : '';
  }

  function showThought() {
    if (closed) return;
    parts.thoughts.show(board, thought?.about || null, thought?.kind, winner() !== null);
    const live = thought?.kind === 'live' ? thought.about.valueFirst : null;
    const now = winner() !== null && played.resigned ? winner() : latest(played.values, played.moves.length);
    parts.bar.show(game, live ?? now, own());
  }

  function tell() {
    if (closed) return;
    const busy = Boolean(waiting) && !waiting.trouble;
    const won = winner();
    onChange({
      game, played, board, busy,
      ply: view && !busy ? view.moves.length : null,
      headline: headline(), detail: detail(),
      winner: won, outcome: won === null ? '' : !yours() || won === 0 ? 'even' : won === own() ? 'won' : 'lost',
      toMove: view && won === null ? view.toMove : 0,
      thinking: busy && ['reply', 'hint', 'pace'].includes(waiting.what),
      trouble: waiting?.trouble?.code || '',
    });
    const playable = view && won === null && !busy && !aiToMove() ? view.legal : [];
    board.invite(playable, view ? view.toMove : 1);
    board.node.classList.toggle('azp-over-now', won !== null);
    parts.curve.show(game, played.values, played.moves.length);
    showThought();
  }

  function start() { send('show', played.moves); }

  function close() {
    closed = true;
    hangUp();
    board.stop();
  }

  return { game, board, actions, start, retry, open, say, tell, hangUp, close, label: () => { board.label(); tell(); }, link: () => linkTo(game, played.moves) };
}
