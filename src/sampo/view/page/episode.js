// One episode, read from top to bottom: what was seen, what was written, what came of it.

function drawEpisode() {
  const episode = chosenEpisode();
  const home = $('episode');
  if (!episode) return home.replaceChildren();
  const facts = [
    episode.success ? 'success' : 'failure',
    words(episode.stop_reason),
    `reward ${num(episode.reward)}`,
    `score ${num(episode.score)}`,
    `policy version ${episode.policy_version}`,
    fate(episode),
    ...Object.entries(episode.metrics).map(([name, value]) => `${words(name)} ${num(value)}`),
  ];
  home.replaceChildren(
    el(
      'div',
      { class: 'head' },
      el(
        'h3',
        {},
        mark(episode),
        chosenGroup().members.length > 1 ? ` Episode ${episode.member + 1}` : ` ${episode.task}`,
      ),
      el('span', { class: 'note', text: facts.join(' · ') }),
      pageSwitch(episode),
    ),
    tokenTools(episode),
    episode.error ? el('p', { class: 'error', text: episode.error }) : '',
    ...episode.turns.map((turn, place) => turnBlock(episode, turn, place)),
    episode.turns.length
      ? ''
      : el('p', { class: 'empty', text: 'It ended before its first turn.' }),
  );
  markTurnBlock();
}

function turnBlock(episode, turn, place) {
  const { texts, actions } = state.content;
  const admissible = known(turn.admissible) ? actions[turn.admissible] : null;
  const shared = chosenGroup().states.get(turn.state_key);
  const facts = [
    known(turn.advantage) ? `advantage ${signed(turn.advantage)}` : null,
    `reward ${num(turn.reward)}`,
    turn.penalty ? `penalty ${num(turn.penalty)}` : null,
    shared ? `state ${shared.letter} (${shared.count} turns)` : null,
    turn.state_key ? `anchor ${turn.state_key}` : null,
    turn.finish_reason === 'stop' ? null : `ended by ${turn.finish_reason}`,
    turn.starts_row ? null : 'same row',
  ].filter(Boolean);
  return el(
    'section',
    { class: 'turn-block', id: `turn-${place}`, 'aria-label': `turn ${place + 1}` },
    el(
      'div',
      { class: 'turn-head' },
      el('h4', { text: `turn ${place + 1}` }),
      el('span', {
        class: 'chip',
        style: `background:${diverging(turn.advantage, state.content.scales.advantage)}`,
        text: turn.action ?? 'no action',
      }),
      turn.format_valid ? null : el('span', { class: 'flag', text: '✕ wrong format' }),
      turn.format_valid && !turn.action_valid
        ? el('span', { class: 'flag', text: '✕ not admissible' })
        : null,
      el('span', { class: 'note', text: facts.join(' · ') }),
    ),
    showsPage(turn)
      ? visitedPage(turn)
      : promptIsShown(turn)
        ? ''
        : el('div', { class: 'observation', text: texts[turn.observation] }),
    turn.pieces ? tokenStrip(turn, place) : el('div', { class: 'reply', text: texts[turn.reply] }),
    admissible && !turn.action_valid
      ? el('p', { class: 'note', text: `admissible: ${admissible.join(', ')}` })
      : '',
  );
}

function markTurnBlock() {
  const home = $('episode');
  for (const block of home.querySelectorAll('.turn-block.chosen')) block.classList.remove('chosen');
  const block = $(`turn-${state.turn}`);
  if (!block) return;
  block.classList.add('chosen');
  const top = block.offsetTop - home.querySelector('.token-tools').offsetHeight;
  if (
    top < home.scrollTop ||
    block.offsetTop + block.offsetHeight > home.scrollTop + home.clientHeight
  )
    home.scrollTop = top;
}
