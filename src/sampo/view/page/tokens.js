// The tokens of a turn: prompt tokens in grey (mask 0), the policy's own with a colour (mask 1).

const SHORT_PROMPT = 60; // longer prompts are folded, and the observation is shown apart

const promptSize = (turn) => {
  const prompt = state.content.prompts[turn.prompt];
  return prompt.pieces.length + prompt.left_out;
};
const promptIsShown = (turn) => Boolean(turn.pieces) && promptSize(turn) <= SHORT_PROMPT;

function tokenTools(episode) {
  const scale = state.content.scales;
  if (!episode.turns.some((turn) => turn.pieces))
    return el('p', {
      class: 'token-tools note',
      text: 'The tokens of this episode were not written (EpisodeWriter: with_ids, token_groups).',
    });
  const trained = episode.turns.some((turn) => turn.update);
  const names = Object.keys(QUANTITIES).filter((name) =>
    episode.turns.some((turn) =>
      (turn.pieces || []).some((_, i) => known(QUANTITIES[name].value(turn, i))),
    ),
  );
  const shown = names.includes(state.colour) ? state.colour : names[0];
  const {
    colour,
    ends,
    names: [less, more],
  } = QUANTITIES[shown];
  const [low, high] = ends(scale);
  const middle =
    shown === 'ratio' ? [Math.log(low), 0, Math.log(high)] : [low, (low + high) / 2, high];
  const swatches = Array.from({ length: 9 }, (_, i) => {
    const value =
      i < 4
        ? middle[0] + ((middle[1] - middle[0]) * i) / 4
        : middle[1] + ((middle[2] - middle[1]) * (i - 4)) / 4;
    return el('i', { style: `background:${colour(value, scale)}` });
  });
  return el(
    'div',
    { class: 'token-tools' },
    el(
      'label',
      {},
      'Colour: ',
      el(
        'select',
        { id: 'colour', onchange: (event) => choose({ colour: event.target.value }) },
        ...names.map((name) =>
          el('option', { value: name, text: QUANTITIES[name].label, selected: name === shown }),
        ),
      ),
    ),
    el(
      'span',
      {
        class: 'ramp',
        role: 'img',
        'aria-label': `from ${num(low, 3)}, ${less}, to ${num(high, 3)}, ${more}`,
      },
      el('span', { text: `${less} ${num(low, 3)}` }),
      ...swatches,
      el('span', { text: `${num(high, 3)} ${more}` }),
    ),
    el('span', { class: 'key' }, el('span', { class: 'tok prompt', text: 'mask 0' })),
    ...(trained
      ? [
          el('span', { class: 'key' }, el('span', { class: 'tok clipped', text: 'clipped' })),
          el('span', { class: 'key' }, el('span', { class: 'tok dual', text: 'dual clip' })),
          el('span', { class: 'key' }, el('span', { class: 'tok rejected', text: 'masked turn' })),
        ]
      : [el('span', { class: 'note', text: 'not trained on: no ratios' })]),
  );
}

// Line breaks are shown, and kept.
const visible = (piece) => piece.replaceAll('\n', '⏎\n') || '␀';

function tokenStrip(turn, place) {
  const prompt = state.content.prompts[turn.prompt];
  const head = prompt.pieces.map((piece, i) =>
    el('span', {
      class: 'tok prompt',
      tabindex: -1,
      'data-i': -1 - i,
      text:
        (prompt.left_out && i === prompt.cut_at
          ? `[… ${num(prompt.left_out)} tokens left out …]`
          : '') + visible(piece),
    }),
  );
  const shown = shownColour(turn);
  const tail = turn.pieces.map((piece, i) =>
    el('span', {
      class: `tok own ${clipClass(turn.update?.flags[i] || 0)}`,
      tabindex: -1,
      'data-i': i,
      text: visible(piece),
      style: shown
        ? `background:${shown.colour(shown.value(turn, i), state.content.scales)}`
        : null,
    }),
  );
  const strip = el('div', { class: 'strip', 'data-turn': place });
  if (!promptIsShown(turn)) {
    const fold = el('button', {
      class: 'fold',
      'aria-expanded': 'false',
      text: `${num(promptSize(turn))} prompt tokens, mask 0`,
    });
    fold.addEventListener('click', () => {
      const open = fold.getAttribute('aria-expanded') === 'false';
      fold.setAttribute('aria-expanded', String(open));
      if (open) fold.after(...head);
      else head.forEach((token) => token.remove());
    });
    strip.append(fold, ...tail);
  } else strip.append(...head, ...tail);
  const first = tail[0] || head[0];
  if (first) first.tabIndex = 0;
  return strip;
}

function shownColour(turn) {
  const has = (quantity) => turn.pieces.some((_, i) => known(quantity.value(turn, i)));
  return has(QUANTITIES[state.colour])
    ? QUANTITIES[state.colour]
    : Object.values(QUANTITIES).find(has);
}

// Rows of (name, value) about a token.
function tokenFacts(turn, i) {
  if (i < 0) return [['mask', '0: part of the prompt, no gradient']];
  const update = turn.update;
  const logprob = turn.logprobs[i];
  const rows = [
    ['token', `${num(turn.ids[i])}, number ${i + 1} of ${turn.ids.length}`],
    ['mask', '1: written by the policy'],
    [
      'log-prob sampled',
      known(logprob) ? `${num(logprob)} (probability ${num(Math.exp(logprob), 3)})` : '–',
    ],
  ];
  if (!update) {
    if (known(turn.advantage)) rows.push(['advantage', signed(turn.advantage)]);
    return [...rows, ['update', 'none: nothing was recorded for it']];
  }
  const flags = update.flags[i];
  const clip = [
    flags & CLIPPED && 'clipped by the main bound',
    flags & CLIPPED_LOWER && 'clipped by the dual clip',
    flags & REJECTED && 'rejected by the sequence mask',
  ].filter(Boolean);
  const ratio = (log) => `${num(Math.exp(log), 5)} (log ${signed(log)})`;
  return [
    ...rows,
    ['log-prob recomputed', num(update.old_logprobs[i])],
    ['ratio of the token', ratio(update.log_ratio[i])],
    ['ratio in the loss', ratio(update.log_weight[i])],
    ['advantage', signed(update.advantages[i])],
    ['clip', clip.join(', ') || 'in range'],
    ...(update.entropy ? [['entropy', `${num(update.entropy[i])} nats`]] : []),
    ...(update.ref_kl ? [['KL to the reference', num(update.ref_kl[i])]] : []),
  ];
}

function showToken(token) {
  const strip = token.closest('.strip');
  if (!strip) return;
  const turn = chosenEpisode().turns[strip.dataset.turn];
  const rows = tokenFacts(turn, Number(token.dataset.i));
  showTip(token, [
    el('b', { class: 'mono', text: token.textContent }),
    el(
      'dl',
      {},
      ...rows.flatMap(([name, value]) => [el('dt', { text: name }), el('dd', { text: value })]),
    ),
  ]);
}

function tokenKey(event) {
  const token = event.target;
  if (!token.classList.contains('tok')) return;
  const tokens = [...token.closest('.strip').querySelectorAll('.tok')];
  const to = moved(event.key, tokens.indexOf(token), tokens.length, 'ArrowLeft', 'ArrowRight');
  const turn = moved(event.key, state.turn, chosenEpisode().turns.length);
  if (to !== undefined) focusToken(token, tokens[to]);
  else if (turn !== undefined) {
    choose({ turn });
    focusToken(token, document.querySelector(`.strip[data-turn="${turn}"] .tok[tabindex="0"]`));
  } else return;
  event.preventDefault();
}

function focusToken(from, to) {
  if (!to) return;
  if (from.parentNode === to.parentNode) from.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}
