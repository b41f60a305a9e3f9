// What the browser of episodes shows of a file.

const unique = (values) =>
  [...new Set(values.filter((value) => value !== '' && known(value)))].sort();

function passes(episode) {
  const { outcome, stop, training, type, text } = state.filters;
  if (outcome && episode.success !== (outcome === 'success')) return false;
  if (stop && episode.stop_reason !== stop) return false;
  if (type && episode.task_type !== type) return false;
  if (training === 'kept' && !episode.kept) return false;
  if (training === 'dropped' && episode.kept) return false;
  if (training.startsWith('because ') && episode.drop_reason !== training.slice(8)) return false;
  return !text || mentions(episode, text.toLowerCase());
}

function mentions(episode, text) {
  const { texts } = state.content;
  return (
    episode.task.toLowerCase().includes(text) ||
    episode.turns.some((turn) =>
      [turn.action || '', texts[turn.reply], texts[turn.observation]].some((part) =>
        part.toLowerCase().includes(text),
      ),
    )
  );
}

const visibleGroups = (content) => content.groups.filter((group) => group.members.some(passes));
const firstGroup = (content) =>
  (content.groups.find((g) => g.number >= 0 && g.members.some(passes)) || content.groups[0])
    ?.number ?? null;

function drawFilters() {
  const episodes = state.content ? state.content.episodes : [];
  const reasons = unique(episodes.map((e) => e.drop_reason)).map((reason) => [
    `because ${reason}`,
    `left out: ${words(reason)}`,
  ]);
  const types = unique(episodes.map((e) => e.task_type));
  const stops = unique(episodes.map((e) => e.stop_reason));
  const fields = [
    choice('outcome', 'Outcome', [
      ['', 'all'],
      ['success', 'success'],
      ['failure', 'failure'],
    ]),
    choice('stop', 'Stopped by', [['', 'anything'], ...stops.map((stop) => [stop, words(stop)])]),
    choice('training', 'Training', [
      ['', 'all'],
      ['kept', 'trained on'],
      ['dropped', 'left out'],
      ...reasons,
    ]),
    types.length > 1
      ? choice('type', 'Task type', [['', 'all'], ...types.map((type) => [type, words(type)])])
      : null,
    el(
      'label',
      {},
      'Find ',
      el('input', {
        type: 'search',
        name: 'text',
        size: 16,
        placeholder: 'task, action or text',
        value: state.filters.text,
      }),
    ),
  ].filter(Boolean);
  $('filters').replaceChildren(
    ...fields,
    el('span', { class: 'told', id: 'found', 'aria-live': 'polite' }),
    el('button', { type: 'reset', class: 'quiet', id: 'reset', text: 'reset' }),
  );
  drawFound();
}

function choice(name, label, options) {
  const there = options.some(([value]) => value === state.filters[name]);
  const entries = there
    ? options
    : [
        ...options,
        [
          state.filters[name],
          `${words(state.filters[name].replace('because ', 'left out: '))} (none here)`,
        ],
      ];
  return el(
    'label',
    {},
    `${label} `,
    el(
      'select',
      { name },
      ...entries.map(([value, text]) =>
        el('option', { value, text, selected: value === state.filters[name] }),
      ),
    ),
  );
}

function drawFound() {
  if (!state.content) return;
  const { episodes, groups } = state.content;
  const count = episodes.filter(passes).length;
  const shown = visibleGroups(state.content).length;
  const all = Object.values(state.filters).every((value) => value === '');
  $('found').textContent = all
    ? many(groups.length, 'group')
    : `${num(count)} of ${many(episodes.length, 'episode')}, ${num(shown)} of ${many(groups.length, 'group')}`;
  $('reset').hidden = all;
}

function listenToFilters() {
  const form = $('filters');
  const apply = (filters) => {
    choose({ filters });
    const groups = state.content ? visibleGroups(state.content) : [];
    if (groups.length && !groups.some((group) => group.number === state.group))
      openGroup(groups[0]);
    else if (chosenEpisode() && !passes(chosenEpisode()) && groups.length) openGroup(chosenGroup());
  };
  const read = () => apply({ ...state.filters, ...Object.fromEntries(new FormData(form)) });
  form.addEventListener('input', (event) => event.target.type === 'search' && read());
  form.addEventListener('change', (event) => event.target.type !== 'search' && read());
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('reset', (event) => {
    event.preventDefault();
    apply({ outcome: '', stop: '', training: '', type: '', text: '' });
    drawFilters();
  });
}

// Chooses a group and its first episode that the filters let through.
function openGroup(group) {
  choose({ group: group.number, member: Math.max(group.members.findIndex(passes), 0), turn: 0 });
}
