// The choices beside the board: which side, which level, and the link to a position.
function makeChooser(name, onChange) {
  const text = make('span');
  const select = make('select', { class: `azp-${name}`, onchange: () => onChange(select.value) });
  const node = make('label', { class: 'azp-choice' }, text, select);

  function show(label, options, value, idle = false) {
    setText(text, label);
    select.disabled = idle;
    const wanted = JSON.stringify(options);
    if (select.dataset.options !== wanted) {
      select.dataset.options = wanted;
      select.replaceChildren(...options.map(([key, word_]) => make('option', { value: key }, word_)));
    }
    select.value = value;
  }

  return { node, show };
}

function makeChoices({ onSide, onLevel }) {
  const [side, level] = [makeChooser('side', onSide), makeChooser('level', onLevel)];
  const effort = make('p', { class: 'azp-note' });
  const untrained = make('p', { class: 'azp-note azp-untrained' });
  const node = make('section', { class: 'azp-card azp-choices' }, side.node, level.node, effort, untrained);

  function show(game, played) {
    const [first, second] = [1, -1].map((player) => playerName(game, player));
    side.show(t('you.play'), [
      ['first', t('side.first', { player: first })], ['second', t('side.second', { player: second })],
      ['both', t('side.both')], ['watch', t('side.watch')],
    ], played.side);
    level.show(t('level'), Object.keys(game.levels).map((name) => [name, t(`level.${name}`)]), played.level, played.side === 'both');
    const { simulations, seconds } = game.levels[played.level];
    const work = seconds ? t('effort.seconds', { seconds: number(seconds) })
      : t('effort.simulations', { simulations: number(simulations) });
    setText(effort, played.side === 'both' ? t('feels.both') : join(t(`feels.${played.level}`), work));
    untrained.hidden = game.trained;
    setText(untrained, t('untrained'));
  }

  return { node, show };
}

function makeSharing(link) {
  const copy = button('copy', share);
  const field = make('input', { class: 'azp-link', readonly: '', hidden: '' });
  const node = make('section', { class: 'azp-card azp-sharing' }, copy, field);

  async function share() {
    try {
      await navigator.clipboard.writeText(link());
      setText(copy, t('copied'));
      copy.dataset.copied = link();
    } catch { // no clipboard without https or permission
      field.hidden = false;
      field.value = link();
      field.setAttribute('aria-label', t('copy.failed'));
      setText(copy, t('copy.failed'));
      field.select();
    }
  }

  function label() {
    setText(copy, t('copy'));
    field.hidden = true;
  }

  return { node, label };
}
