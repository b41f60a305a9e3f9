// An observation of parts joined by ` [SEP] ` (web pages as text), read as the page it was: a line
// per text, and what could be clicked as links, by the admissible actions `click[text]`.

const PART = ' [SEP] ';

const isPage = (turn) => state.content.texts[turn.observation].includes(PART);
const showsPage = (turn) => state.pages && isPage(turn);

// The argument of an action such as `click[buy now]`, in lower case; null for other actions.
function argumentOf(action, verb) {
  const given = (action ?? '').trim().toLowerCase();
  return given.startsWith(`${verb}[`) && given.endsWith(']')
    ? given.slice(verb.length + 1, -1)
    : null;
}

function visitedPage(turn) {
  const admissible = known(turn.admissible) ? state.content.actions[turn.admissible] : [];
  const links = new Set(admissible.map((action) => argumentOf(action, 'click')));
  const clicked = argumentOf(turn.action, 'click');
  const searched = argumentOf(turn.action, 'search');
  const lines = [];
  let row = null; // links that follow each other stand side by side
  for (const part of state.content.texts[turn.observation].split(PART)) {
    const name = part.toLowerCase();
    const link = links.has(name) || name === clicked;
    if (!link || !row) lines.push((row = el('p')));
    row.append(
      link
        ? el('span', { class: `link ${name === clicked ? 'used' : ''}`, text: part })
        : document.createTextNode(part),
    );
    if (!link) row = null;
  }
  const box = searched !== null || admissible.some((action) => argumentOf(action, 'search') !== null);
  return el(
    'div',
    { class: 'visited', role: 'group', 'aria-label': 'page' },
    ...lines,
    box ? el('p', { class: `query ${searched === null ? '' : 'used'}`, text: searched ?? '' }) : null,
  );
}

function pageSwitch(episode) {
  if (!episode.turns.some(isPage)) return null;
  return el('button', {
    id: 'pages',
    class: 'segment',
    'aria-pressed': String(state.pages),
    text: 'as pages',
    onclick: () => {
      choose({ pages: !state.pages });
      $('pages').focus(); // drawn anew
    },
  });
}
