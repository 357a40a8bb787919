// The page around the board: header, status, buttons, and which game is open.
const THEMES = ['auto', 'light', 'dark'];
const chosen = recall('page');
let theme = THEMES.includes(chosen.theme) ? chosen.theme : 'auto';
let play = null;

const keep = (choice) => remember('page', { ...recall('page'), ...choice });

const title = make('h1', { class: 'azp-title' });
const games = make('nav', { class: 'azp-games' }, ...FACTS.games.map((game) => make('button', {
  type: 'button', class: 'azp-game', 'data-game': game.name, onclick: () => openGame(game),
})));
const languages = make('select', { class: 'azp-language', onchange: () => speak(languages.value, true) },
  ...Object.entries(LANGUAGES).map(([key, text]) => make('option', { value: key, lang: key }, text)));
const themes = make('button', { type: 'button', class: 'azp-theme', onclick: nextTheme });
const headline = make('strong', { class: 'azp-headline' });
const detail = make('span', { class: 'azp-detail' });
const again = button('retry', () => play.retry());
const status = make('div', { class: 'azp-status' },
  make('i', { class: 'azp-turn', 'aria-hidden': 'true' }),
  make('div', { class: 'azp-words', role: 'status', 'aria-live': 'polite', 'aria-atomic': 'true' }, headline, detail), again);
const controls = {
  undo: button('undo', () => play.actions.undo()),
  hint: button('hint', () => play.actions.hint()),
  resign: button('resign', () => play.actions.resign()),
  pause: button('pause', () => play.actions.pause()),
  new: button('new', () => play.actions.fresh()),
};
const stage = make('div', { class: 'azp-stage' });
const parts = { thoughts: makeThoughts(() => play.tell()), bar: makeBar(), curve: makeCurve() };
const choices = makeChoices({ onSide: (side) => play.actions.side(side), onLevel: (level) => play.actions.level(level) });
const rules = makeRules();
const sharing = makeSharing(() => play.link());
const links = [make('a', { href: 'monitor' }), make('a', { href: 'api/v1/docs' })];

root.append(
  make('header', { class: 'azp-top' }, title, games, make('div', { class: 'azp-tools' }, languages, themes)),
  make('main', { class: 'azp-main' },
    make('section', { class: 'azp-play' }, status, parts.bar.node, stage,
      make('div', { class: 'azp-controls' }, ...Object.values(controls))),
    make('aside', { class: 'azp-side' }, choices.node, parts.curve.node, parts.thoughts.node, rules.node, sharing.node,
      make('footer', { class: 'azp-foot' }, ...links))));

// What `play` tells the page. Tests and styles read the attributes.
function show(now) {
  root.dataset.game = now.game.name;
  root.dataset.outcome = now.outcome;
  root.dataset.winner = now.winner === null ? '' : now.winner;
  root.dataset.toMove = now.toMove;
  root.dataset.trouble = now.trouble;
  if (now.ply !== null) root.dataset.ply = now.ply;
  root.toggleAttribute('data-thinking', now.thinking);
  if (now.busy) root.setAttribute('aria-busy', 'true');
  else root.removeAttribute('aria-busy');
  setText(headline, now.headline);
  setText(detail, now.detail);
  again.hidden = !now.trouble;
  const watching = now.played.side === 'watch';
  controls.pause.hidden = !watching;
  controls.resign.hidden = watching;
  setText(controls.pause, t(now.played.paused ? 'go.on' : 'pause'));
  const dead = { undo: !now.played.moves.length, hint: watching || now.winner !== null, resign: now.winner !== null,
    pause: now.winner !== null };
  for (const [name, isDead] of Object.entries(dead)) controls[name].setAttribute('aria-disabled', isDead);
  choices.show(now.game, now.played);
  sharing.label();
}

function openGame(game) {
  if (play?.game === game) return;
  play?.close();
  keep({ game: game.name });
  for (const tab of games.children) tab.setAttribute('aria-current', tab.dataset.game === game.name ? 'page' : 'false');
  delete root.dataset.ply;
  play = makePlay(game, parts, show);
  stage.replaceChildren(play.board.node);
  root.dataset.skin = game.skin;
  rules.show(game);
  play.tell();
  play.start();
}

function speak(wanted, byHand = false) {
  setLanguage(wanted);
  if (byHand) keep({ language: wanted });
  root.lang = wanted;
  root.dataset.lang = wanted;
  languages.value = wanted;
  languages.setAttribute('aria-label', t('language'));
  const [first, ...rest] = t('title').split(' ');
  title.replaceChildren(make('b', {}, first), make('span', {}, ` ${rest.join(' ')}`));
  games.setAttribute('aria-label', t('games'));
  FACTS.games.forEach((game, i) => setText(games.children[i], word(game.title)));
  for (const name of ['undo', 'hint', 'resign', 'new']) setText(controls[name], t(name));
  setText(again, t('retry'));
  links.forEach((link, i) => setText(link, t(['monitor', 'api'][i])));
  parts.thoughts.label();
  if (play) { play.label(); rules.show(play.game); }
  paintTheme();
}

function nextTheme() {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  keep({ theme });
  paintTheme();
}

function paintTheme() {
  const dark = theme === 'dark' || (theme === 'auto' && inTheDark.matches);
  root.dataset.theme = dark ? 'dark' : 'light';
  document.documentElement.dataset.azpTheme = root.dataset.theme;
  setText(themes, { auto: '◐', light: '☀', dark: '☾' }[theme]);
  themes.setAttribute('aria-label', `${t('theme')}: ${t(`theme.${theme}`)}`);
  themes.title = themes.getAttribute('aria-label');
}

const lastGame = () => FACTS.games.find((game) => game.name === chosen.game) || FACTS.games[0];

function openLink() {
  const link = readLink();
  if (!link) return false;
  history.replaceState(null, '', location.href.split('#')[0]);
  openGame(link.game || play?.game || lastGame());
  if (link.game) play.open(link.moves);
  else play.say('badLink');
  return true;
}

inTheDark.addEventListener('change', paintTheme);
window.addEventListener('hashchange', openLink);
window.addEventListener('pagehide', () => play?.hangUp());
window.addEventListener('pageshow', (event) => { if (event.persisted) play?.start(); }); // back from the browser's cache
window.addEventListener('online', () => play?.retry());
speak(firstLanguage(chosen.language));
if (!openLink()) openGame(lastGame());
root.dataset.ready = 'true';
