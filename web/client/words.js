// The texts of the page in three languages, and which of them is spoken.
const LANGUAGES = { en: 'English', 'zh-Hant': '繁體中文', 'zh-Hans': '简体中文' };
let language = 'en';

// zh-HK, zh-TW, zh-MO and zh-Hant read traditional characters, every other zh simplified ones.
function languageOf(tag) {
  if (/^zh\b/i.test(tag)) return /hant|-(hk|tw|mo)\b/i.test(tag) ? 'zh-Hant' : 'zh-Hans';
  return /^en\b/i.test(tag) ? 'en' : null;
}

function firstLanguage(chosen) {
  if (chosen in LANGUAGES) return chosen;
  return FACTS.lang || (navigator.languages || []).map(languageOf).find(Boolean) || 'en';
}

function setLanguage(chosen) {
  language = chosen;
  document.documentElement.lang = chosen;
  document.title = t('title');
}

// A text with its {names} filled in.
function t(key, values = {}) {
  const text = FACTS.texts[language][key];
  return typeof text === 'string' ? text.replace(/\{(\w+)\}/g, (_, name) => values[name]) : text;
}

// Sentences one after the other: Chinese full stops bring their own space.
const join = (...sentences) => sentences.filter(Boolean).join(language === 'en' ? ' ' : '');

// A word of a game's own; a game that came later than the translations is shown in its own words.
const word = (text) => FACTS.texts[language]['of.the.games'][text] || text;
const playerName = (game, player) => word(game.players[String(player)]);
const number = (value) => value.toLocaleString(language);

const cellName = (game, cell) => String.fromCharCode(65 + (cell % game.cols)) + (1 + Math.floor(cell / game.cols));

function cellNumber(game, name) {
  const match = /^([A-Z])([1-9]\d?)$/.exec(name);
  if (!match) return null;
  const [col, row] = [match[1].charCodeAt(0) - 65, Number(match[2]) - 1];
  return col < game.cols && row < game.rows ? row * game.cols + col : null;
}
