// The page's forms: a question goes to the worker, its answer takes the place of what stood there.

const { search } = new URL(import.meta.url);
const { count, kinds, make, missingTwin, quoted, stepTable, sum } = await import(`./answers.js${search}`);
const loaded = new Set(), waiting = new Map();
const drawn = new Map(); // of each place, how it shows a word of its sentence
let worker = null, asked = 0;

// --- the worker -------------------------------------------------------------------------------------------------------

// Begins with the first question, so that whoever only reads loads nothing.
function startWorker() {
  return new Promise((ready, fail) => {
    const made = new Worker(new URL(`worker.js${search}`, import.meta.url), { type: "module" });
    made.onerror = () => fail(new Error("This browser does not run the model."));
    made.onmessage = ({ data }) => (data.ready ? ready(made) : waiting.get(data.id)(data));
  });
}

async function ask(question, progress) {
  const id = asked++;
  worker ??= startWorker();
  const target = await worker;
  return new Promise((answered, refused) => {
    waiting.set(id, (message) => {
      if (message.total) return progress(message);
      waiting.delete(id);
      return message.error ? refused(new Error(message.error)) : answered(message);
    });
    target.postMessage({ id, ...question });
  });
}

// --- the panels -------------------------------------------------------------------------------------------------------

const modelsOf = (button) => button.dataset.models.split(" ");
const areLoaded = (models) => models.every((name) => loaded.has(name));

function showForms() {
  for (const panel of document.querySelectorAll(".ask")) {
    const form = panel.querySelector("form"), every = panel.querySelector("button[name=learning]");
    form.hidden = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const button = form.elements.ask;
      if (button) await answer(panel, form, event.submitter ?? button);
      if (!button || (every && areLoaded(modelsOf(every)))) await learn(panel, form, every);
    });
    if (every?.type !== "button") continue;
    every.parentElement.hidden = false;
    every.addEventListener("click", () => learn(panel, form, every));
  }
}

// What a panel, or the part of it that shows a training, does with a question: `work` asks and shows, and returns the replies
// and what to say of them, which is not written: whoever sees the page sees it below. What is read aloud is one text that is
// not seen, since a screen reader takes a part that comes with another for a second message.
async function converse(part, work) {
  const [status, seen, bar, place] = ["[role=status]", ".ask-status", "progress", ".ask-answer"].map((name) => part.querySelector(`:scope > ${name}`));
  if (place.ariaBusy === "true") return;
  const say = (text, shown = text) => {
    seen.textContent = shown;
    if (status.textContent !== text) status.textContent = text; // once, since it is read aloud
  };
  const put = async (question) => {
    const reply = await ask(question, ({ doing, done, total }) => {
      say(doing);
      bar.hidden = false;
      bar.value = done / total;
    });
    bar.hidden = true;
    markLoaded(question.model);
    return reply;
  };
  place.ariaBusy = "true";
  say("Computing …");
  try {
    const { replies, said } = await work(place, put, say), spent = sum(replies.map((reply) => reply.milliseconds));
    const time = `Computed in this browser, in ${spent < 1000 ? `${Math.ceil(spent)} ms` : `${(spent / 1000).toFixed(1)} s`}.`;
    say(`${said} ${time}`, time);
  } catch (error) {
    say(error.message);
  }
  bar.hidden = true;
  place.ariaBusy = "false";
}

function markLoaded(model) {
  loaded.add(model);
  for (const button of document.querySelectorAll("button[data-models]")) if (areLoaded(modelsOf(button))) button.querySelector("small")?.remove();
}

async function inTurn(models, put) {
  const replies = [];
  for (const model of models) replies.push(await put(model));
  return replies;
}

const valuesOf = (form) => Object.fromEntries(new FormData(form));
const answersOf = (replies) => replies.map((reply) => reply.answer);

// The untrained twin is asked where its button was pressed, and where it is loaded already.
const answer = (panel, form, button) => converse(panel, async (place, put, say) => {
  const kind = panel.dataset.ask, { question, show, said, byWord } = kinds[kind], both = modelsOf(form.elements.twin);
  const asked = question(valuesOf(form)), names = areLoaded(both) ? both : modelsOf(button);
  const replies = await inTurn(names, (model) => put({ ...asked, kind, model })), answers = answersOf(replies), came = cameWith(panel);
  const draw = (word) => {
    const more = { ...came, word };
    place.replaceChildren(...show(names, answers, more), ...(names.length > 1 ? [] : [missingTwin()]));
    enliven(place, came);
    return answers.map((found, index) => (index ? "Untrained twin. " : "") + said(found, more)).join(" ");
  };
  return { replies, said: byWord ? chooseWord(panel, place, answers[0].words, draw, say) : draw() };
});

// All steps are asked; the slider chooses which one is shown whole, beside the table of all.
const learn = (panel, form, button) => converse(panel.querySelector(".ask-learnt"), async (place, put) => {
  const kind = { learning: "fill" }[panel.dataset.ask] ?? panel.dataset.ask, { question, settled, byWord } = kinds[kind];
  const names = modelsOf(button), values = valuesOf(form);
  let asked = { ...question(values), kind };
  if (settled) asked = settled(asked, (await put({ ...asked, model: names.at(-1) })).answer);
  const replies = await inTurn(names, (model) => put({ ...asked, model }));
  const texts = Object.entries(values).flatMap(([name, text]) => (name === "words" ? [] : [quoted(text)]));
  const caption = `${place.dataset.model} by step, asked ${texts.join(" and ")}`;
  const draw = (word) => showSteps(panel, place, kinds[kind], caption, answersOf(replies), { ...cameWith(panel), marks: {}, told: null, word });
  return { replies, said: byWord ? chooseWord(panel, place, replies[0].answer.words, draw) : draw() };
});

function showSteps(panel, place, kind, caption, answers, more) {
  const steps = place.dataset.steps.split(" ").map((step) => count(Number(step))), step = place.querySelector(".ask-step");
  const { made, rows, said } = stepTable(kind, caption, steps, answers, more);
  place.querySelector(".ask-steps").replaceWith(made);
  step.hidden = false;
  return slide(panel.querySelector(".ask-slider"), steps, said, (index) => {
    rows.forEach((line, other) => line.classList.toggle("ask-marked", other === index));
    const head = [...step.querySelectorAll("[role=gridcell]")].findIndex((tile) => tile.ariaSelected === "true");
    step.replaceChildren(...kind.show([`${place.dataset.model}, step ${steps[index]}`], [answers[index]], { ...more, start: Math.max(head, 0) }));
    enliven(step, more);
  });
}

function slide(slider, steps, said, show) {
  const input = slider.querySelector("input"), output = slider.querySelector("output");
  input.oninput = () => {
    const index = Number(input.value);
    output.textContent = `step ${steps[index]}`;
    input.setAttribute("aria-valuetext", `step ${steps[index]}: ${said[index]}`);
    show(index);
  };
  input.oninput();
  slider.hidden = false;
  return `At ${input.getAttribute("aria-valuetext")}. The slider chooses a step.`;
}

// What the explorer of this page came with: which heads the book marks, its style, and the script that gives explorers a life.
let explorerCame = null;
function cameWith(panel) {
  const place = panel.querySelector(".ask-answer:has(> figure.explorer)");
  if (!place || explorerCame) return explorerCame;
  const { marks, start } = JSON.parse(place.querySelector("figure script").textContent);
  explorerCame = { marks, start, told: place.querySelector(".explorer-marks"), life: place.querySelector("figure ~ script").textContent, letters: JSON.parse(panel.dataset.letters) };
  panel.prepend(place.querySelector("style"));
  return explorerCame;
}

function enliven(place, came) {
  if (!place.querySelector("figure.explorer")) return;
  place.append(make("script", { textContent: came.life })); // starts every explorer that has not been started
  place.lastChild.remove();
}

// One word is chosen for all answers to the same sentence; where it still stands in the next one, it stays chosen. Returns
// what `draw` says of it; what it says of a word that is chosen later, `say` tells.
function chooseWord(panel, place, words, draw, say = () => {}) {
  const chooser = panel.querySelector(".ask-words"), before = words.indexOf(chooser.dataset.word);
  const start = before < 0 ? words.findIndex((word) => word.length === Math.max(...words.map(({ length }) => length))) : before;
  drawn.set(place, { sentence: String(words), draw: (index) => say(draw(index)) });
  const choose = (index) => {
    chooser.dataset.word = words[index];
    for (const part of drawn.values()) if (part.sentence === String(words)) part.draw(index);
  };
  const labels = words.map((word, index) => make("label", {},
    make("input", { type: "radio", name: "word", checked: index === start, onchange: () => choose(index) }), word));
  chooser.replaceChildren(chooser.querySelector("legend"), ...labels);
  chooser.hidden = false;
  chooser.dataset.word = words[start];
  return draw(start);
}

showForms();
