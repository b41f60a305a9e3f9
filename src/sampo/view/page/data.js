// What Python packed into the page, unpacked when it is asked for.

async function decode(id) {
  const packed = atob(JSON.parse($(id).textContent));
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).json();
}

const unpacked = new Map();
const KEPT_FILES = 6;

// The episodes of a file, prepared for the browser; the newest few stay in memory.
async function episodesOf(file) {
  const id = `chunk-${file.chunk}`;
  if (!unpacked.has(id)) unpacked.set(id, decode(id).then(prepare));
  const content = unpacked.get(id);
  unpacked.delete(id);
  unpacked.set(id, content);
  while (unpacked.size > KEPT_FILES) unpacked.delete(unpacked.keys().next().value);
  return content;
}

function prepare(content) {
  const groups = new Map();
  content.episodes.forEach((episode, place) => {
    episode.place = place;
    if (!groups.has(episode.group)) groups.set(episode.group, []);
    const members = groups.get(episode.group);
    episode.member = members.length;
    members.push(episode);
    for (const turn of episode.turns) unfold(turn);
  });
  content.groups = [...groups].map(([number, members]) => ({ number, members }));
  for (const group of content.groups) group.states = sharedStates(group.members);
  content.scales = scales(content.episodes);
  return content;
}

// One value for a whole turn stands for one per token.
function unfold(turn) {
  if (!turn.update) return;
  for (const name of ['advantages', 'flags']) {
    const value = turn.update[name];
    if (!Array.isArray(value)) turn.update[name] = turn.pieces.map(() => value);
  }
}

// Letters for states in which several turns of a group began.
function sharedStates(members) {
  const counts = new Map();
  for (const episode of members)
    for (const { state_key: key } of episode.turns)
      if (key) counts.set(key, (counts.get(key) || 0) + 1);
  const shared = [...counts].filter(([, count]) => count > 1).map(([key]) => key);
  return new Map(shared.map((key, i) => [key, { letter: letters(i), count: counts.get(key) }]));
}

function letters(i) {
  return (i >= 26 ? letters(Math.floor(i / 26) - 1) : '') + String.fromCharCode(97 + (i % 26));
}

// The size at which a colour is full, per quantity: nearly the largest of the file.
function scales(episodes) {
  const sizes = { advantage: [], ratio: [], entropy: [], ref_kl: [] };
  for (const episode of episodes) {
    for (const turn of episode.turns) {
      if (known(turn.advantage)) sizes.advantage.push(Math.abs(turn.advantage));
      const update = turn.update;
      if (!update) continue;
      for (const value of update.advantages) sizes.advantage.push(Math.abs(value));
      for (const value of update.log_weight) sizes.ratio.push(Math.abs(value));
      for (const name of ['entropy', 'ref_kl'])
        for (const value of update[name] || []) sizes[name].push(Math.abs(value));
    }
  }
  const least = { advantage: 1e-3, ratio: 1e-4, entropy: 1e-3, ref_kl: 1e-5 };
  const result = { logprob: 4 };
  for (const [name, values] of Object.entries(sizes)) {
    values.sort((a, b) => a - b);
    result[name] = Math.max(values[Math.floor(0.98 * (values.length - 1))] || 0, least[name]);
  }
  return result;
}
