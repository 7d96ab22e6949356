// Brings the explorers of a page to life; runs once after each of them, and starts each once. No ids, no library, no request.
(() => {
  const percent = (share) => (share > 0 && share < 0.005 ? "< 1 %" : `${Math.round(100 * share)} %`);

  function make(tag, properties = {}, ...children) {
    const { attributes = {}, style = {}, ...rest } = properties;
    const element = Object.assign(document.createElement(tag), rest);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    for (const [name, value] of Object.entries(style)) element.style.setProperty(name, value);
    element.append(...children);
    return element;
  }

  // One tab stop for many buttons: arrows move the focus by `step(key, index)`, focus and click pin, the mouse previews.
  function rove(buttons, step, { pin, preview, start = 0 }) {
    const stop = (index) => buttons.forEach((button, i) => { button.tabIndex = i === index ? 0 : -1; });
    buttons.forEach((button, index) => {
      button.addEventListener("focus", () => stop(index));
      button.addEventListener("click", () => { button.focus(); pin(index, true); });
      if (preview) button.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && preview(index));
      button.addEventListener("keydown", (event) => {
        const next = step(event.key, index);
        if (next === null) return;
        event.preventDefault();
        const target = Math.min(Math.max(next, 0), buttons.length - 1);
        buttons[target].focus();
        pin(target, false);
      });
    });
    stop(start);
    return stop;
  }

  // The key's target in a list; in a list that reads upwards, the next one is above.
  const along = (length, forward, back) => (key, index) =>
    ({ [forward]: index + 1, [back]: index - 1, Home: 0, End: length - 1 })[key] ?? null;

  function within(rows, columns) {
    return (key, index) => {
      const row = Math.floor(index / columns), column = index % columns;
      const place = { ArrowRight: [row, column + 1], ArrowLeft: [row, column - 1], ArrowDown: [row + 1, column],
        ArrowUp: [row - 1, column], Home: [row, 0], End: [row, columns - 1] }[key];
      if (!place) return null;
      const clamp = (value, size) => Math.min(Math.max(value, 0), size - 1);
      return clamp(place[0], rows) * columns + clamp(place[1], columns);
    };
  }

  function switcher(names, choose) {
    const buttons = names.map((name, index) => make("button", { type: "button", textContent: name, onclick: () => {
      mark(index);
      choose(index);
    } }));
    const mark = (index) => buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === index));
    mark(0);
    return make("div", { className: "explorer-switch", attributes: { role: "group", "aria-label": "Which model" } },
      ...(names.length > 1 ? buttons : []));
  }

  // Read aloud when it changes, from the time on when the focus comes into the explorer: not when it is made.
  function statusLine(root) {
    const status = make("p", { className: "explorer-status" });
    root.addEventListener("focusin", () => status.setAttribute("aria-live", "polite"), { once: true });
    return status;
  }

  function attention(root, data) {
    const { units, layers, heads, marks } = data, count = units.length;
    const names = Object.keys(data.views), maps = root.querySelectorAll(".explorer-map");
    const weights = names.map((name) => Uint8Array.from(atob(data.views[name]), (letter) => letter.charCodeAt(0)));
    const state = { view: 0, head: 0, word: null }, pinned = { head: 0, word: null };
    const weight = (from, to) => weights[state.view][(state.head * count + from) * count + to] / 255;
    const nameOf = (head) => `${Math.floor(head / heads) + 1}-${(head % heads) + 1}`;

    const status = statusLine(root);
    const from = units.map((unit) => make("button", { type: "button", textContent: unit }));
    const to = units.map((unit) => make("span", {}, unit));
    const lines = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [name, value] of Object.entries({ viewBox: `0 0 100 ${count}`, preserveAspectRatio: "none", "aria-hidden": "true" })) {
      lines.setAttribute(name, value);
    }
    const tiles = Array.from({ length: layers * heads }, (_, head) => {
      const name = `head ${nameOf(head)}${marks[nameOf(head)] ? ", framed" : ""}`; // the line of words says its relation
      return make("button", { type: "button", title: name, attributes: { role: "gridcell", "aria-label": name } });
    });
    const grid = make("div", { className: "explorer-grid", attributes: { role: "grid", "aria-label": "Heads: rows are layers" } },
      ...Array.from({ length: layers }, (_, layer) =>
        make("div", { attributes: { role: "row" } }, ...tiles.slice(layer * heads, (layer + 1) * heads))));

    function sentence() {
      const name = nameOf(state.head), head = `Head ${name}${names.length > 1 ? `, ${names[state.view]}` : ""}`;
      const mark = marks[name] && !data.unmarked[state.view] ? ` Relation: ${marks[name]}.` : "";
      if (state.word !== null) {
        const [first, second] = units.map((unit, i) => [weight(state.word, i), unit]).sort((a, b) => b[0] - a[0]);
        return `${head}: “${units[state.word]}” looks mostly at “${first[1]}” (${percent(first[0])})`
          + `${second ? `, then at “${second[1]}” (${percent(second[0])})` : ""}.${mark}`;
      }
      const received = units.map((_, j) => units.reduce((sum, _, i) => sum + weight(i, j), 0) / count);
      const most = received.indexOf(Math.max(...received));
      let best = [0, 0];
      units.forEach((_, i) => units.forEach((_, j) => { if (weight(i, j) > weight(...best)) best = [i, j]; }));
      return `${head}: most attention goes to “${units[most]}” (${percent(received[most])} of all); the strongest `
        + `single weight is “${units[best[0]]}” to “${units[best[1]]}” (${percent(weight(...best))}).${mark}`;
    }

    function draw() {
      maps.forEach((map, view) => { map.hidden = view !== state.view; });
      const place = maps[state.view].querySelector(".explorer-tiles");
      if (grid.parentNode !== place) place.append(grid);  // moving it takes the focus away
      tiles.forEach((tile, head) => tile.setAttribute("aria-selected", head === state.head));
      from.forEach((button, i) => button.setAttribute("aria-pressed", i === state.word));
      to.forEach((span, j) => {
        const share = state.word === null ? 0 : weight(state.word, j);
        span.style.setProperty("--share", share);
        span.dataset.share = share >= 0.005 ? percent(share) : "";
      });
      lines.replaceChildren(...units.flatMap((_, i) => units.flatMap((_, j) => {
        if (weight(i, j) < 0.02 || (state.word !== null && state.word !== i)) return [];
        const line = document.createElementNS(lines.namespaceURI, "line");
        for (const [name, value] of Object.entries({ x1: 0, y1: i + 0.5, x2: 100, y2: j + 0.5, "stroke-opacity": weight(i, j) })) {
          line.setAttribute(name, value);
        }
        return [line];
      })));
      status.textContent = sentence();
    }

    const change = (kind, value, keep = true) => { state[kind] = value; if (keep) pinned[kind] = value; draw(); };
    rove(tiles, within(layers, heads), { pin: (head) => change("head", head), preview: (head) => change("head", head, false), start: data.start });
    rove(from, along(count, "ArrowDown", "ArrowUp"), {
      pin: (word, again) => change("word", again && word === pinned.word ? null : word), preview: (word) => change("word", word, false) });
    grid.addEventListener("pointerleave", () => change("head", pinned.head));
    const left = make("div", { attributes: { role: "group", "aria-label": "Show one word only" } }, ...from);
    left.addEventListener("pointerleave", () => change("word", pinned.word));
    const words = make("div", { className: "explorer-lines", style: { "--count": count } }, left, lines,
      make("div", { attributes: { role: "group", "aria-label": "What it looks at" } }, ...to));
    const panes = root.querySelector(".explorer-panes");
    panes.before(switcher(names, (view) => change("view", view)));
    panes.append(make("div", { className: "explorer-detail" }, status, words));
    state.head = pinned.head = data.start;
    draw();
  }

  function layers(root, data) {
    const names = Object.keys(data.views), top = data.layers - 1;
    const state = { view: 0, word: data.start, layer: top };
    const view = () => data.views[names[state.view]];
    const layerName = (layer) => (layer ? `layer ${layer}` : "embeddings");

    const words = data.words.map((word) => make("button", { type: "button", textContent: word }));
    // One row a layer, the last one on top, as in the stack.
    const ladder = Array.from({ length: data.layers }, (_, place) => {
      const parts = ["explorer-layer", "explorer-guess", "explorer-share"].map((className) => make("span", { className }));
      parts[0].textContent = layerName(top - place);
      return make("button", { type: "button" }, ...parts);
    });
    const status = statusLine(root), detail = make("div", { className: "explorer-facts" });

    const rungOf = (layer) => (view().guesses ? view().guesses[layer][state.word][0]
      : [data.contexts[view().neighbours[layer][state.word][0][0]][1], view().neighbours[layer][state.word][0][1]]);
    const bar = ([text, share]) => make("li", { style: { "--share": share } }, make("span", {}, text), make("span", {}, percent(share)));

    function neighbour([index, cosine]) {
      const [before, word, after] = data.contexts[index];
      return make("li", {}, make("span", {}, `${before} `, make("strong", {}, word), ` ${after}`), make("span", {}, cosine.toFixed(2)));
    }

    const cosine = (name, value) => (value === null ? [] : [make("li", {}, make("span", {}, name), make("span", {}, value.toFixed(2)))]);

    function facts() {
      const { layer, word } = state, { guesses, neighbours, below, same, other } = view();
      const list = (title, items) => (items.length ? [make("p", { className: "explorer-title" }, title), make("ul", {}, ...items)] : []);
      detail.replaceChildren(
        ...list("If the word is masked, the head reads", guesses ? guesses[layer][word].map(bar) : []),
        ...list("Nearest words in other sentences (cosine)", neighbours[layer][word].map(neighbour)),
        ...list("Cosine of the word's vector", [...cosine("to the layer below", below[layer][word]),
          ...cosine("to the same word elsewhere", same[layer][word]), ...cosine("to other words, the baseline", other[layer][word])]));
    }

    function sentence() {
      const { layer, word } = state, { guesses, neighbours } = view();
      const [first, near] = neighbours[layer][word][0], [before, form, after] = data.contexts[first];
      const read = guesses ? `masked, the head reads “${guesses[layer][word][0][0]}” (${percent(guesses[layer][word][0][1])}); ` : "";
      return `“${data.words[word]}” at ${layer ? "" : "the "}${layerName(layer)}${names.length > 1 ? `, ${names[state.view]}` : ""}: ${read}`
        + `nearest is “${form}” in “${`${before} ${form} ${after}`.trim()}” (${near.toFixed(2)}).`;
    }

    function draw() {
      words.forEach((button, i) => button.setAttribute("aria-pressed", i === state.word));
      ladder.forEach((button, place) => {
        const [text, share] = rungOf(top - place);
        button.setAttribute("aria-pressed", top - place === state.layer);
        button.style.setProperty("--share", Math.max(share, 0));
        button.children[1].textContent = text;
        button.children[2].textContent = view().guesses ? percent(share) : share.toFixed(2);
        button.classList.toggle("explorer-right", text === data.words[state.word]);
      });
      facts();
      status.textContent = sentence();
    }

    const change = (kind, value) => { state[kind] = value; draw(); };
    rove(words, along(words.length, "ArrowRight", "ArrowLeft"), { pin: (word) => change("word", word), start: data.start });
    rove(ladder, along(ladder.length, "ArrowDown", "ArrowUp"), { pin: (place) => change("layer", top - place) });
    root.querySelector(".explorer-panes").append(
      switcher(names, (chosen) => change("view", chosen)),
      make("div", { className: "explorer-words", attributes: { role: "group", "aria-label": "Words of the sentence" } }, ...words),
      status,
      make("div", { className: "explorer-stack" },
        make("div", { className: "explorer-ladder", attributes: { role: "group", "aria-label": "Layers, the last on top" } }, ...ladder), detail));
    root.querySelector("details").open = false;
    draw();
  }

  for (const root of document.querySelectorAll(".explorer:not([data-started])")) {
    root.dataset.started = "";
    const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
    ({ attention, layers })[root.dataset.kind](root, data);
  }
})();
