// The list of groups of a file: one line each, a mark per episode.

const groupName = (group) => (group.number < 0 ? 'without a group' : `group ${group.number}`);

// What became of an episode in training.
function fate(episode) {
  if (!episode.kept) return `left out: ${words(episode.drop_reason || 'unknown')}`;
  if (isEvaluation()) return 'held-out task';
  return episode.filled ? 'trained on to fill up' : 'trained on';
}

const verdict = (members) => fate(members.find((episode) => episode.kept) || members[0]);

function mark(episode) {
  const shape = episode.stop_reason === 'error' ? '×' : episode.success ? '●' : '○';
  return el('span', {
    class: `mark ${episode.success ? 'good' : 'bad'} ${passes(episode) ? '' : 'faint'}`,
    text: shape,
  });
}

function groupLine(group) {
  const { members } = group;
  const solved = members.filter((episode) => episode.success).length;
  const rewards = members.map((episode) => episode.reward).filter(known);
  const mean = rewards.length ? rewards.reduce((a, b) => a + b) / rewards.length : null;
  const lone = isEvaluation();
  const chosen = group.number === state.group;
  const said = lone ? members[0].stop_reason : verdict(members);
  return el(
    'div',
    {
      class: `group ${members.some((episode) => episode.kept) ? '' : 'dropped'}`,
      role: 'option',
      id: `group-${group.number}`,
      'aria-selected': String(chosen),
      'aria-label': `${groupName(group)}, task ${members[0].task}, ${solved} of ${members.length} solved, mean reward ${num(mean, 3)}, ${words(said)}`,
      onclick: () => openGroup(group),
    },
    el('span', {
      class: 'task',
      text: lone ? members[0].task : `${groupName(group)} · ${members[0].task}`,
    }),
    el(
      'span',
      { class: 'marks', 'aria-hidden': true },
      ...members.slice(0, 24).map(mark),
      members.length > 24 ? `+${members.length - 24}` : '',
    ),
    el('span', { class: 'note', text: `${words(said)} · reward ${num(mean, 3)}` }),
  );
}

function drawGroups() {
  const groups = state.content ? visibleGroups(state.content) : [];
  const home = $('groups');
  home.replaceChildren(
    ...(groups.length
      ? groups.map(groupLine)
      : [
          el('p', {
            class: 'empty',
            text: state.content ? 'No episode passes these filters.' : 'No episodes.',
          }),
        ]),
  );
  markChosenGroup(groups);
}

function markChosenGroup() {
  const home = $('groups');
  for (const line of home.querySelectorAll('.group'))
    line.setAttribute('aria-selected', String(line.id === `group-${state.group}`));
  const chosen = $(`group-${state.group}`);
  if (chosen) {
    home.setAttribute('aria-activedescendant', chosen.id);
    chosen.scrollIntoView({ block: 'nearest' });
  } else home.removeAttribute('aria-activedescendant');
}

function groupKey(event) {
  if (!state.content) return;
  const groups = visibleGroups(state.content);
  const to = moved(
    event.key,
    groups.findIndex((group) => group.number === state.group),
    groups.length,
  );
  if (to !== undefined && groups.length) openGroup(groups[to]);
  else if (event.key === 'Enter') $('members').querySelector('[tabindex="0"]')?.focus();
  else return;
  event.preventDefault();
}
