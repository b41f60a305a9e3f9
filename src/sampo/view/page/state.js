// What is chosen, in one place and in the address, so that a reload shows the same thing again.

const state = {
  tab: 'curves',
  file: null, // place in data.files
  content: null, // its episodes, once unpacked
  group: null, // number of the group
  member: 0, // place within the group
  turn: 0,
  colour: 'advantage',
  pages: true, // observations that are pages are shown as such
  filters: { outcome: '', stop: '', training: '', type: '', text: '' },
};
let data = null;

const watchers = [];
// Calls `draw(changed)` after each change; `changed` holds the names of what changed.
const watch = (draw) => watchers.push(draw);

function choose(changes) {
  const changed = new Set();
  for (const [name, value] of Object.entries(changes)) {
    if (state[name] !== value) changed.add(name);
    state[name] = value;
  }
  if (changed.size === 0) return;
  for (const draw of watchers) draw(changed);
  remember();
}

function remember() {
  const file = state.file === null ? null : data.files[state.file];
  const parts = { tab: state.tab };
  if (file) Object.assign(parts, { [file.kind]: file.step });
  if (file && state.group !== null)
    Object.assign(parts, { group: state.group, member: state.member, turn: state.turn });
  history.replaceState(null, '', `#${new URLSearchParams(parts)}`);
}

function remembered() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const place = (name) => (parts.has(name) ? Number(parts.get(name)) : null);
  const file = data.files.findIndex(
    (f) => f.chunk !== null && parts.has(f.kind) && f.step === place(f.kind),
  );
  return {
    tab: ['episodes', 'settings'].includes(parts.get('tab')) ? parts.get('tab') : 'curves',
    file: file < 0 ? null : file,
    group: place('group'),
    member: place('member') || 0,
    turn: place('turn') || 0,
  };
}

let asked = 0;
// Opens a file of episodes; `at` says where in it, else its first group that the filters let through.
async function openFile(place, at = {}) {
  const mine = ++asked;
  const content = await episodesOf(data.files[place]);
  if (mine !== asked) return; // another file was asked for meanwhile
  const group = content.groups.find((g) => g.number === at.group);
  const member = Math.min(at.member || 0, group ? group.members.length - 1 : 0);
  choose({
    file: place,
    content,
    group: group ? group.number : firstGroup(content),
    member,
    turn: at.turn || 0,
  });
}

// Places in data.files of one kind whose episodes are on the page.
const readable = (kind) =>
  data.files
    .map((file, place) => ({ file, place }))
    .filter(({ file }) => file.kind === kind && file.chunk !== null);

// The file of rollouts nearest to a step.
function nearestFile(step, kind = 'update') {
  let best = null;
  for (const entry of readable(kind))
    if (!best || Math.abs(entry.file.step - step) < Math.abs(best.file.step - step)) best = entry;
  return best;
}

const chosenGroup = () =>
  state.content ? state.content.groups.find((group) => group.number === state.group) : undefined;
const chosenEpisode = () => chosenGroup()?.members[state.member];
const isEvaluation = () => state.file !== null && data.files[state.file].kind === 'validation';
