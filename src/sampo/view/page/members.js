// The members of a group side by side: a column each, a row per turn, so that one sees where
// episodes of the same task part, and which turns began in the same state.

// The reward that says nothing because most turns have it, e.g. the cost of a step.
function usualReward(members) {
  const counts = new Map();
  for (const { turns } of members)
    for (const { reward } of turns) counts.set(reward, (counts.get(reward) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
}

function memberHead(episode, chosen) {
  const why = episode.kept
    ? null
    : el('span', { class: 'note', text: words(episode.drop_reason || '') });
  return el(
    'th',
    {
      scope: 'col',
      'aria-selected': String(chosen),
      onclick: () =>
        choose({
          member: episode.member,
          turn: Math.min(state.turn, Math.max(episode.turns.length - 1, 0)),
        }),
    },
    el('span', { class: 'who' }, mark(episode), ` ${episode.member + 1}`),
    el('b', { text: num(episode.reward, 3) }),
    known(episode.score) && episode.score !== episode.reward
      ? el('span', { class: 'note', text: `score ${num(episode.score, 3)}` })
      : null,
    el('span', {
      class: 'note',
      text: words(episode.stop_reason),
      title: many(episode.turns.length, 'turn'),
    }),
    why,
  );
}

function turnCell(episode, place, group, usual) {
  const turn = episode.turns[place];
  if (!turn) return el('td', { class: 'blank' });
  const shared = group.states.get(turn.state_key);
  const wrong = !turn.format_valid ? 'format' : !turn.action_valid ? 'invalid' : '';
  const label =
    `episode ${episode.member + 1}, turn ${place + 1}: ${turn.action ?? 'no action'}, advantage ${signed(turn.advantage, 3)}, reward ${num(turn.reward)}` +
    (wrong ? `, ${wrong === 'format' ? 'wrong format' : 'action not admissible'}` : '') +
    (shared ? `, state ${shared.letter} of ${shared.count} turns` : '');
  return el(
    'td',
    {
      class: `turn ${wrong ? 'wrong' : ''} ${passes(episode) ? '' : 'faint'}`,
      tabindex: -1,
      'data-member': episode.member,
      'data-turn': place,
      'data-state': turn.state_key,
      'aria-label': label,
      style: `background:${diverging(turn.advantage, state.content.scales.advantage)}`,
    },
    el('span', { class: 'action', text: turn.action ?? '∅', title: turn.action }),
    el(
      'span',
      { class: 'extras' },
      wrong ? el('span', { class: 'flag', text: `✕ ${wrong}` }) : null,
      turn.reward !== usual ? el('span', { text: signed(turn.reward, 3) }) : null,
      shared ? el('span', { class: 'state', text: shared.letter }) : null,
    ),
  );
}

function drawMembers() {
  const group = chosenGroup();
  const home = $('members');
  $('panel-episodes').classList.toggle('lone', isEvaluation()); // an evaluation has no groups to compare
  if (!group) return home.replaceChildren();
  const usual = usualReward(group.members);
  const longest = Math.max(...group.members.map((episode) => episode.turns.length));
  const rows = Array.from({ length: longest }, (_, place) =>
    el(
      'tr',
      {},
      el('th', { scope: 'row', text: place + 1 }),
      ...group.members.map((episode) => turnCell(episode, place, group, usual)),
    ),
  );
  const first = group.members[0];
  home.replaceChildren(
    el(
      'p',
      { class: 'head' },
      el('b', { text: `${groupName(group)} · ${first.task}` }),
      el('span', {
        class: 'note',
        text: ` ${first.task_type} seed ${first.seed} · ${verdict(group.members)}`,
      }),
      el('span', {
        class: 'note right',
        text: `colour: advantage of the turn${known(usual) ? ` · rewards other than ${num(usual)}` : ''} · letters: same state`,
      }),
    ),
    el(
      'div',
      { class: 'scroll' },
      el(
        'table',
        { role: 'grid', 'aria-label': 'Members of the group side by side' },
        el(
          'thead',
          {},
          el('tr', {}, el('td'), ...group.members.map((episode) => memberHead(episode, false))),
        ),
        el('tbody', {}, ...rows),
      ),
    ),
  );
  markChosenTurn();
}

const cellOf = (member, turn) =>
  $('members').querySelector(`td[data-member="${member}"][data-turn="${turn}"]`);

function markChosenTurn() {
  const home = $('members');
  for (const cell of home.querySelectorAll('.chosen, .same'))
    cell.classList.remove('chosen', 'same');
  for (const cell of home.querySelectorAll('td[tabindex="0"]')) cell.tabIndex = -1;
  home
    .querySelectorAll('thead th')
    .forEach((head, i) => head.setAttribute('aria-selected', String(i === state.member)));
  const cell = cellOf(state.member, state.turn) || home.querySelector('td.turn');
  if (!cell) return;
  cell.tabIndex = 0;
  cell.classList.add('chosen');
  if (cell.dataset.state)
    for (const other of home.querySelectorAll(`td[data-state="${CSS.escape(cell.dataset.state)}"]`))
      other.classList.add('same');
  const scroll = home.querySelector('.scroll');
  const left = cell.offsetLeft - 32; // the column of turn numbers stays in place
  if (
    left < scroll.scrollLeft ||
    cell.offsetLeft + cell.offsetWidth > scroll.scrollLeft + scroll.clientWidth
  )
    scroll.scrollLeft = left;
  const top = cell.offsetTop - scroll.querySelector('thead').offsetHeight;
  if (
    top < scroll.scrollTop ||
    cell.offsetTop + cell.offsetHeight > scroll.scrollTop + scroll.clientHeight
  )
    scroll.scrollTop = top;
}

function memberKey(event) {
  const group = chosenGroup();
  if (!group || !event.target.classList.contains('turn')) return;
  const along = moved(event.key, state.member, group.members.length, 'ArrowLeft', 'ArrowRight');
  const { length } = group.members[along ?? state.member].turns;
  const down = moved(event.key, state.turn, length);
  if (event.key === 'Enter') {
    event.preventDefault();
    return $('episode').querySelector('.turn-block.chosen .tok[tabindex="0"]')?.focus();
  }
  if (event.key.startsWith('Arrow') && along !== undefined)
    choose({ member: along, turn: Math.min(state.turn, Math.max(length - 1, 0)) });
  else if (down !== undefined) choose({ turn: down });
  else return;
  event.preventDefault();
  cellOf(state.member, state.turn)?.focus({ preventScroll: true });
}

function listenToMembers() {
  $('members').addEventListener('keydown', memberKey);
  $('members').addEventListener('click', (event) => {
    const cell = event.target.closest('td.turn');
    if (cell) choose({ member: Number(cell.dataset.member), turn: Number(cell.dataset.turn) });
  });
}
