"use strict";
// The page's views. Data are inserted only as text (textContent, attributes), never as markup.
(() => {
    const page = JSON.parse(document.getElementById("data").textContent);
    const { number, unpack, shares, sums } = Explorer, $ = (id) => document.getElementById(id);
    const VIEWS = { text: "Text", words: "Words", scatter: "Scatter plot", sources: "Sources", readers: "Readers", lms: "LMs", memory: "Memory" };
    const RANGES = ["length", "position", "frequency"], PAGE_WORDS = 800, DRAWN = 2000;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const state = {}, lists = { data: page.datasets, response: page.responses, a: page.lms, b: page.lms };
    let now, drawing = Promise.resolve(), tables, turn = 0;

    // Elements
    function make(tag, attributes = {}, ...children) {
        const element = document.createElement(tag);
        for (const [name, value] of Object.entries(attributes)) {
            if (name in element && typeof value !== "string") element[name] = value;
            else if (value !== null && value !== undefined) element.setAttribute(name, value);
        }
        element.append(...children);
        return element;
    }
    const button = (text, onclick, more = {}) => make("button", { type: "button", onclick, ...more }, text);
    const labelled = (text, input) => make("label", {}, make("span", {}, text), input);
    function choice(id, text, options, none) {
        const all = none === undefined ? options : [["", none], ...options];
        const select = make("select", { id, onchange: () => go({ [id]: select.value }) });
        select.append(...all.map(([value, label]) => make("option", { value: String(value) }, label)));
        select.value = state[id];
        return labelled(text, select);
    }
    function field(id, text, more = {}) {
        const input = make("input", { id, type: "search", autocomplete: "off", ...more });
        input.value = state[id];
        input.onchange = () => go({ [id]: input.type === "checkbox" ? (input.checked ? "1" : "") : input.value });
        if (input.type === "checkbox") input.checked = state[id] === "1";
        return labelled(text, input);
    }
    const paragraph = (text, kind = "") => make("p", { class: kind }, text);
    const unitOf = ({ label, unit }) => (unit ? `${label} (${unit})` : label);
    const theme = () => state.theme || (dark.matches ? "dark" : "light");
    // A property's own value is a function of the theme, the colour of an element is not.
    const probe = document.body.appendChild(make("i", { hidden: true }));
    const colour = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };

    // State: the selection, in the address's fragment
    const KEYS = ["view", "data", "response", "a", "b", "colour", "page", "word", "reader", "search", "x", "y", "range", "has", "pos", ...RANGES, "selected", "likelihood", "unit", "top", "theme"];
    function defaults() {
        const mean = page.ranking.filter(({ response }) => response === (page.responses.length > 1 ? -1 : 0));
        const best = mean.reduce((a, b) => ((b.value ?? -Infinity) > (a?.value ?? -Infinity) ? b : a), null)?.lm ?? 0;
        const other = page.lms.findIndex((_, lm) => lm !== best);
        return { ...Object.fromEntries(KEYS.map((key) => [key, ""])), view: "text", data: page.datasets[page.responses[0]?.dataset ?? 0].key, response: page.responses[0]?.key ?? "", a: page.lms[best]?.key ?? "", b: page.lms[other]?.key ?? "", top: "10" };
    }
    const place = (id) => lists[id].findIndex(({ key }) => key === state[id]);
    const written = () => new URLSearchParams(KEYS.filter((key) => state[key] !== defaults()[key] && key !== "theme").map((key) => [key, state[key]])).toString();
    function read() {
        const asked = new URLSearchParams(location.hash.slice(1)), wrong = [], theme = state.theme ?? "";
        Object.assign(state, defaults(), { theme });
        for (const [key, value] of asked) {
            const names = key === "view" ? Object.keys(VIEWS) : lists[key]?.map((entry) => entry.key);
            if (!KEYS.includes(key)) wrong.push(key);
            else if (names && !names.includes(value) && !(key === "b" && value === "")) wrong.push(`${key} “${value}”`);
            else state[key] = value;
        }
        if (asked.has("response") && !asked.has("data") && place("response") >= 0) state.data = page.datasets[page.responses[place("response")].dataset].key;
        $("message").textContent = wrong.length ? `The address has entries that this page lacks: ${wrong.join(", ")}.` : "";
    }
    // Change the selection and draw it; resolves when it is drawn.
    function go(changes) {
        Object.assign(state, changes);
        if (changes.response) state.data = page.datasets[page.responses[place("response")].dataset].key;
        if (changes.data && page.responses[place("response")]?.dataset !== place("data")) state.response = page.responses.find(({ dataset }) => dataset === place("data"))?.key ?? "";
        if (changes.data || (changes.response && now?.dataset !== place("data"))) Object.assign(state, { page: "", word: "", range: "" });
        if ("x" in changes || "y" in changes) state.range = changes.range ?? "";
        try { history.replaceState(null, "", `#${written()}`); } catch { /* a frame without an address */ }
        cite();
        return (drawing = drawing.then(draw));
    }
    function cite() {
        const file = page.page.startsWith("/") || page.page.startsWith("'/") ? `"file://"${page.page}` : `"file://$PWD/"${page.page}`;
        $("command").textContent = page.page ? `${page.command} && python -m webbrowser ${file}'#${written()}'` : `${page.command}  # in its view, ${written() ? `#${written()}` : "as it opens"}`;
    }

    // Charts and tables
    function filled(value, by) {
        if (Array.isArray(value)) return value.map((entry) => filled(entry, by));
        if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, filled(entry, by)]));
        return typeof value === "string" && Object.hasOwn(by, value) ? by[value] : value;
    }
    async function chart(host, name, datasets, titles, about) {
        const figure = make("figure", {}, make("div", { class: "chart" }));
        host.append(figure);
        const names = ["ink", "line", "chosen", "low", "high", "paper"], frame = figure.firstChild;
        const spec = filled(page.charts[name], { ...Object.fromEntries(names.map((entry) => [`$${entry}`, colour(entry)])), ...titles });
        const width = Math.max(220, frame.clientWidth || 600);
        Object.assign(spec, { datasets, description: about });
        if (spec.facet) spec.facet.sort = [...new Set(datasets.ranking.map(({ response }) => response))];
        if (spec.facet) spec.spec.width = width - Math.min(280, width / 3 + 20);
        else Object.assign(spec, { width, autosize: { type: "fit-x", contains: "padding" } });
        const ink = colour("ink"), grid = colour("rule"), axis = { labelColor: ink, titleColor: ink, gridColor: grid, domainColor: grid, tickColor: grid, titleFontWeight: "normal", labelFontSize: 12, titleFontSize: 12 };
        const config = { background: colour("paper"), axis: { ...axis, labelLimit: Math.min(260, width / 3) }, header: { labelColor: ink, labelFontSize: 13 }, view: { stroke: null }, font: "system-ui, sans-serif" };
        const tip = make("div", { class: "tip", hidden: true });
        frame.append(make("div", {}), tip);
        const tooltip = (_, event, item, value) => {
            tip.hidden = !value;
            if (!value) return;
            tip.textContent = Object.entries(value).map(([key, entry]) => `${titles[`${key}_title`] ?? key}: ${entry}`).join("\n");
            const box = frame.getBoundingClientRect();
            Object.assign(tip.style, { left: `${Math.min(event.clientX - box.left + 12, width - 180)}px`, top: `${event.clientY - box.top + 12}px` });
        };
        const { view } = await vegaEmbed(frame.firstChild, spec, { actions: false, ast: true, config, tooltip, renderer: name === "scatter" ? "canvas" : "svg" });
        const saved = async (type) => save(await view.toImageURL(type, 2), `${name}.${type}`);
        figure.append(make("figcaption", {}, about, " ", button("Save SVG", () => saved("svg")), button("Save PNG", () => saved("png"))));
        return view;
    }
    function save(address, name) {
        const link = make("a", { href: address, download: name });
        document.body.append(link);
        link.click();
        link.remove();
    }
    // A table of `rows` (indices) with columns {title, get, text?}; DataTables requests one page of rows at a time.
    async function table(host, rows, columns, name, open) {
        const element = make("table", { class: "display compact", "aria-label": name });
        host.append(make("div", { class: "wide" }, element), make("p", {}, button("Download CSV", () => {
            const text = Explorer.csv([columns.map(({ title }) => title), ...rows.map((i) => columns.map(({ get }) => { const value = get(i); return Number.isNaN(value) || value == null ? "" : value; }))]);
            save(URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" })), `${name}.csv`);
        })));
        const { default: DataTable } = await tables;
        const ajax = ({ draw, start, length, order: [by] }, done) => {
            let sorted = rows;
            if (by) {
                const { get } = columns[by.column], sign = by.dir === "asc" ? 1 : -1, lacks = (v) => v == null || Number.isNaN(v);
                const keys = new Map(rows.map((i) => [i, get(i)]));
                sorted = rows.slice().sort((i, j) => {
                    const [u, v] = [keys.get(i), keys.get(j)];
                    return lacks(u) - lacks(v) || (typeof u === "string" ? sign * u.localeCompare(v) : sign * (u - v)) || i - j;
                });
            }
            const shown = sorted.slice(start, length < 0 ? undefined : start + length);
            done({ draw, recordsTotal: rows.length, recordsFiltered: rows.length, data: shown.map((i) => [...columns.map(({ get }) => (typeof get(i) === "string" ? get(i) : number(get(i)))), i]) });
        };
        const draws = columns.map(({ title, get }, c) => ({ title, data: c, render: DataTable.render.text(), className: rows.length && typeof get(rows[0]) === "string" ? "dt-left" : "dt-right" }));
        draws.forEach((entry) => (entry.title = make("span", {}, entry.title).outerHTML)); // headings are markup to DataTables: escaped here
        const createdRow = (row, values) => open && row.cells[0].replaceChildren(button(row.cells[0].textContent, () => open(values.at(-1)), { class: "plain" }));
        new DataTable(element, { serverSide: true, ajax, columns: draws, createdRow, searching: false, pageLength: 25, order: [], autoWidth: false, layout: { topStart: null, topEnd: null, bottomStart: ["info", "pageLength"], bottomEnd: "paging" } });
    }

    // Words
    const chosen = () => {
        const limits = state.range.split(",").map(Number), { byId } = now.quantities, [x, y] = [byId[state.x], byId[state.y]];
        if (!state.range || limits.length !== 4 || !x || !y) return null;
        return (i) => x.values[i] >= limits[0] && x.values[i] <= limits[1] && y.values[i] >= limits[2] && y.values[i] <= limits[3];
    };
    const itemOf = (i) => { // the last text that starts at or before a word
        const { starts } = now.data;
        let [low, high] = [0, starts.length - 1];
        while (low < high) { const middle = (low + high + 1) >> 1; if (starts[middle] <= i) low = middle; else high = middle - 1; }
        return low;
    };
    function pagesOf({ starts, words, items }) {
        const pages = [];
        items.forEach((name, t) => {
            const end = starts[t + 1] ?? words.length, last = pages.at(-1);
            if (last && end - last.start <= PAGE_WORDS) return Object.assign(last, { end, name: `${last.first} to ${name}` });
            const parts = Math.ceil((end - starts[t]) / PAGE_WORDS);
            for (let p = 0; p < parts; p++) pages.push({ start: starts[t] + p * PAGE_WORDS, end: Math.min(end, starts[t] + (p + 1) * PAGE_WORDS), first: name, name: parts > 1 ? `${name}, part ${p + 1} of ${parts}` : name });
        });
        return pages;
    }
    const show = (i, more = {}) => go({ view: "text", word: String(i), page: String(pagesOf(now.data).findIndex(({ end }) => i < end)), ...more }).then(() => document.querySelector(".word[tabindex='0']")?.focus());

    // A reader's path to a word: the words before it that this reader had fixated by then.
    async function path(text, i) {
        const { data } = now, t = itemOf(i), [start, end] = [data.starts[t], data.starts[t + 1] ?? data.words.length];
        const of = data.fixations.find(({ reader }) => reader === state.reader), name = [...text.querySelectorAll(".word")];
        const fixated = of ? (await unpack(of.words)).filter((word) => word >= start && word < end) : [], at = fixated.indexOf(i), seen = new Map();
        if (at >= 0) fixated.slice(0, at).forEach((word, k) => word < i && seen.set(word, at - k));
        for (const word of name) {
            const w = +word.dataset.word, before = at >= 0 && w >= start && w < i;
            word.classList.toggle("kept", before && seen.has(w));
            word.classList.toggle("lost", before && !seen.has(w));
            word.title = before && seen.has(w) ? `fixated ${number(seen.get(w))} fixations before` : "";
        }
        $("path").textContent = !of ? "" : at < 0 ? `${state.reader} did not fixate “${data.words[i]}”.`
            : `${state.reader} came to “${data.words[i]}” with fixation ${number(at + 1)} of this text and had fixated ${number(seen.size)} of the ${number(i - start)} words before it (underlined); the others are pale.`;
    }

    async function details(i) {
        const mine = ++turn, { data } = now, responses = page.responses.filter(({ dataset }) => dataset === now.dataset);
        const head = (texts) => make("thead", {}, make("tr", {}, ...texts.map((text) => make("th", { scope: "col" }, text))));
        const lines = (rows) => make("tbody", {}, ...rows.map(([first, ...rest]) => make("tr", {}, make("th", { scope: "row" }, first), ...rest.map((value) => make("td", {}, number(value))))));
        const value = async (column) => (column ? (await unpack(column))[i] : null);
        const all = (columns) => Promise.all(columns.map(value));
        const scored = responses.filter((entry) => entry.gain);
        const lms = await Promise.all(page.lms.map(async ({ label }, lm) => [label, ...(await all([data.surprisal[lm], ...scored.map(({ gain }) => gain[lm])]))]));
        const measures = await Promise.all(responses.map(async (entry) => [`${entry.label}${entry.unit ? ` (${entry.unit})` : ""}`, ...(await all([entry.mean, entry.residual, entry.n]))]));
        if (mine !== turn || !$("details")) return;
        $("details").replaceChildren(make("h2", {}, make("bdi", {}, data.words[i]), ` word ${now.quantities.byId.position.values[i]} of sentence ${now.quantities.sentence[i]}, `, make("bdi", {}, data.items[itemOf(i)])),
            ...(responses.length ? [make("table", {}, head(["Response", "Mean", "Residual", "Observations"]), lines(measures))] : []),
            make("table", {}, head(["LM", "Surprisal (bits)", ...scored.map(({ label }) => `ΔLogLik, ${label} (nats)`)]), lines(lms)));
    }

    const views = {
        text(host) {
            const { data, quantities: { byId } } = now, all = Object.values(byId), some = all.filter(({ id }) => !["frequency", "length", "position", "n"].includes(id));
            const options = some.length ? some : all;
            if (!byId[state.colour]) state.colour = (byId.gain ?? byId.gain_a ?? byId.difference ?? options[0]).id;
            const quantity = byId[state.colour], scale = Explorer.palette(quantity, theme()), pages = pagesOf(data);
            // Begin with a text that has values, since texts without readers have none.
            if (state.page === "") state.page = String(Math.max(0, pages.findIndex(({ start, end }) => quantity.values.slice(start, end).some((value) => !Number.isNaN(value)))));
            const here = Math.min(Math.max(0, parseInt(state.page) || 0), pages.length - 1), marked = chosen();
            const order = Array.from(quantity.values.keys()).filter((i) => !Number.isNaN(quantity.values[i]));
            order.sort((i, j) => Math.abs(quantity.values[j]) - Math.abs(quantity.values[i]) || i - j);
            const step = (by) => { const at = order.indexOf(state.word === "" ? -1 : +state.word); return show(order[Math.min(order.length - 1, Math.max(0, at < 0 ? 0 : at + by))]); };
            const seek = () => {
                const text = $("search").value.toLowerCase(), last = state.word === "" ? -1 : +state.word;
                const hits = [...data.words.keys()].filter((i) => text && data.words[i].toLowerCase().includes(text));
                $("hits").textContent = `${number(hits.length)} found`;
                if (hits.length) show(hits.find((i) => i > last) ?? hits[0], { search: $("search").value });
            };
            const search = make("input", { type: "search", id: "search", onkeydown: (event) => event.key === "Enter" && seek() });
            search.value = state.search;
            const at = order.indexOf(state.word === "" ? -1 : +state.word);
            host.append(make("div", { class: "row" }, choice("colour", "Colour", options.map((entry) => [entry.id, unitOf(entry)])), choice("page", "Text", pages.map(({ name }, p) => [p, name])),
                button("Previous largest", () => step(-1), { id: "previous" }), button("Next largest", () => step(1), { id: "next" }), make("span", { role: "status" }, at >= 0 ? `${number(at + 1)} of ${number(order.length)} by size` : ""),
                labelled("Search", search), button("Find next", seek, { id: "find" }), make("span", { id: "hits", role: "status" })));
            const stops = Array.from({ length: 9 }, (_, s) => scale.css(scale.low + ((scale.high - scale.low) * s) / 8)).join(",");
            host.append(make("div", { class: "legend", role: "img", "aria-label": `Colours from ${number(scale.low)} to ${number(scale.high)} ${quantity.unit ?? ""}` }, `≤ ${number(scale.low)}`, make("i", { style: `background:linear-gradient(90deg,${stops})` }), `≥ ${number(scale.high)} ${quantity.unit ?? ""}`, make("i", { class: "none" }), "no value"));
            if (data.fixations) host.append(make("div", { class: "row" }, choice("reader", "Path of reader", data.fixations.map(({ reader }) => [reader, reader]), "none")), make("p", { id: "path", class: "note", role: "status" }));
            const text = make("div", { class: "text", id: "text", role: "group", "aria-label": `${pages[here].name}; arrow keys move from word to word` });
            const current = +state.word >= pages[here].start && +state.word < pages[here].end && state.word !== "" ? +state.word : pages[here].start;
            for (let i = pages[here].start, sentence = null, line; i < pages[here].end; i++) {
                if (i === pages[here].start || data.starts[itemOf(i)] === i) text.append(make("h3", {}, make("bdi", {}, data.items[itemOf(i)])), (line = make("p", {})));
                if (sentence !== null && sentence !== now.quantities.sentence[i]) line.append(" ");
                sentence = now.quantities.sentence[i];
                const value = quantity.values[i], word = make("button", { type: "button", class: `word${marked?.(i) ? " chosen" : ""}${Number.isNaN(value) ? " none" : ""}`, tabindex: i === current ? "0" : "-1" }, data.words[i]);
                if (!Number.isNaN(value)) Object.assign(word.style, { background: scale.css(value), color: scale.ink(scale.colour(value)) });
                if (state.word === String(i)) word.setAttribute("aria-current", "true");
                word.dataset.word = i;
                line.append(word, " ");
            }
            text.onmouseover = text.onfocusin = ({ target }) => target.dataset.word && details(+target.dataset.word);
            text.addEventListener("focusin", text.onfocusin);
            text.onclick = ({ target }) => { if (target.dataset.word) { state.word = target.dataset.word; go({}).then(() => document.querySelector(".word[tabindex='0']")?.focus()); } };
            text.onkeydown = (event) => {
                const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 10, ArrowUp: -10 }[event.key], words = [...text.querySelectorAll(".word")];
                if (!by) return;
                event.preventDefault();
                const next = words[Math.min(words.length - 1, Math.max(0, words.indexOf(event.target) + by))];
                words.forEach((word) => (word.tabIndex = word === next ? 0 : -1));
                next.focus();
            };
            const figure = (type) => drawn(text, type, `${unitOf(quantity)}; ${data.label}, ${pages[here].name}`);
            host.append(make("div", { class: "reading" }, text, make("aside", { id: "details", "aria-live": "polite" }, paragraph("Point at a word, or move to it with the arrow keys, for the values of all LMs and measures."))),
                make("p", {}, button("Save SVG", () => figure("svg")), button("Save PNG", () => figure("png"))));
            if (state.word !== "") details(current);
            return data.fixations && state.reader && state.word !== "" ? path(text, current) : undefined;
        },

        async words(host) {
            const { data, quantities: { byId, sentence, pos } } = now, marked = chosen(), all = Object.values(byId);
            const bounds = (id) => { const [low, high] = state[id].split("to").map((entry) => (entry.trim() === "" ? NaN : Number(entry))); return [Number.isNaN(low) ? -Infinity : low, high === undefined ? low : Number.isNaN(high) ? Infinity : high]; };
            const limits = RANGES.filter((id) => byId[id] && state[id]).map((id) => [byId[id].values, ...bounds(id)]);
            const part = data.pos?.levels.indexOf(state.pos) ?? -1, text = state.has.toLowerCase();
            const rows = [...data.words.keys()].filter((i) => (!text || data.words[i].toLowerCase().includes(text)) && (part < 0 || pos[i] === part)
                && limits.every(([values, low, high]) => values[i] >= low && values[i] <= high) && (!state.selected || !marked || marked(i)));
            const hint = { placeholder: "as 3 to 6", size: "10" };
            host.append(make("div", { class: "row" }, field("has", "Word contains"), ...(data.pos ? [choice("pos", "Part of speech", data.pos.levels.map((level) => [level, level]), "all")] : []),
                ...RANGES.filter((id) => byId[id]).map((id) => field(id, unitOf(byId[id]), hint)), ...(marked ? [field("selected", "Only the scatter plot's selection", { type: "checkbox" })] : [])),
                paragraph(`${number(rows.length)} of ${number(data.words.length)} words`, "count"));
            const columns = [{ title: "Word", get: (i) => data.words[i] }, { title: "Text", get: (i) => data.items[itemOf(i)] }, { title: "Sentence", get: (i) => sentence[i] },
                ...(data.pos ? [{ title: "Part of speech", get: (i) => data.pos.levels[pos[i]] }] : []), ...all.map((entry) => ({ title: unitOf(entry), get: (i) => entry.values[i] }))];
            await table(host, rows, columns, "words", show);
        },

        async scatter(host) {
            const { data, quantities: { byId } } = now, all = Object.values(byId).map((entry) => [entry.id, unitOf(entry)]);
            if (!byId[state.x]) state.x = (byId.difference ?? byId.surprisal_a ?? byId.length).id;
            if (!byId[state.y]) state.y = (byId.gain ?? byId.gain_a ?? byId.mean ?? byId.length).id;
            const [x, y] = [byId[state.x], byId[state.y]], marked = chosen(), there = [...data.words.keys()].filter((i) => Number.isFinite(x.values[i]) && Number.isFinite(y.values[i]));
            const every = Math.ceil(there.length / DRAWN), picked = there.filter((i, k) => k % every === 0 || marked?.(i)), selected = marked ? there.filter(marked) : [];
            host.append(make("div", { class: "row" }, choice("x", "Across", all), choice("y", "Up", all), field("range", "Selected: least and greatest across, then up", { placeholder: "drag in the plot, or 2,8,0,1", size: "30" }), button("Clear", () => go({ range: "" }))));
            const points = picked.map((i) => ({ x: x.values[i], y: y.values[i], word: data.words[i], selected: !!marked?.(i) }));
            const curve = Explorer.smooth(x.values, y.values);
            const about = `${number(there.length)} words${every > 1 ? `, of which every ${every}th is drawn` : ""}. ${curve.length ? "Line: local linear regression (tricube weights, the nearest 30 % of the words); band: its pointwise 95 % interval, robust to unequal variances, words taken as independent." : "Too few different values for a smooth."}`;
            const view = await chart(host, "scatter", { points, smooth: curve }, { x_title: unitOf(x), y_title: unitOf(y) }, about);
            let brushed = null;
            view.addSignalListener("brush", (_, value) => (brushed = value));
            host.querySelector(".chart").onpointerup = () => setTimeout(() => brushed?.x && brushed?.y && go({ range: [...brushed.x, ...brushed.y].map((entry) => Number(entry.toPrecision(4))).join(",") }), 50);
            if (!marked) return;
            host.append(paragraph(`${number(selected.length)} words are selected; they are marked in the text and the table.`, "count"), make("p", {}, button("Show in the table", () => go({ view: "words", selected: "1" })), button("Show in the text", () => selected.length && show(selected[0]))));
        },

        async sources(host) {
            const { data, response, a, b, quantities: { byId, pos } } = now, word = byId.gain ?? byId.gain_a;
            if (!response?.gain || !word) return host.append(paragraph("Contributions to ΔLogLik need fitted regressions of this response with this LM."));
            const crossed = response.crossed && state.likelihood === "crossed", from = crossed ? response.crossed : { reader: response.readers };
            const kinds = { word: "word", form: "word form", sentence: "sentence", text: "text", unit: "unit", reader: "reader", pos: "part of speech" };
            const offered = Object.entries(kinds).filter(([kind]) => from[kind] || (!crossed && kind !== "unit" && (kind !== "pos" || data.pos)));
            if (!offered.some(([kind]) => kind === state.unit)) state.unit = offered[0][0];
            let units;
            if (from[state.unit]) {
                const [mine, other] = await Promise.all([from[state.unit].gain[a], from[state.unit].gain[b]].map(unpack));
                units = { ...from[state.unit], values: byId.gain ? Explorer.minus(mine, other) : mine };
            } else {
                const keys = { word: (i) => i, form: (i) => data.words[i].toLowerCase(), sentence: (i) => now.quantities.sentence[i], text: (i) => data.items[itemOf(i)], pos: (i) => data.pos.levels[pos[i]] };
                units = sums(keys[state.unit], word.values, await unpack(response.scored));
                const named = { word: (i) => `${data.words[i]} (${data.items[itemOf(i)]}, ${i - data.starts[itemOf(i)] + 1})`, sentence: (s) => `sentence ${s}` }[state.unit];
                if (named) units.names = units.names.map(named);
            }
            if (!units.values) return host.append(paragraph("This LM has no contributions here."));
            const { total, order, cumulated, half, without } = shares(units.values), top = Math.max(0, parseInt(state.top) || 0), kind = kinds[state.unit];
            const likelihood = crossed ? response.crossed.likelihood : response.likelihood;
            const variance = (units.noise ?? response.noise)?.[a][byId.gain ? b : a], by = variance ? Explorer.compared(units.values, units.rows, variance) : null;
            host.append(make("div", { class: "row" }, ...(response.crossed ? [choice("likelihood", "Log-likelihood", [["crossed", response.crossed.likelihood]], response.likelihood)] : []), choice("unit", "By", offered), field("top", "Leave out the largest", { type: "number", min: "0", max: String(order.length) })),
                paragraph(`${unitOf(word)}: ${number(total)} over ${number(order.length)} units (${kind}). Half of it comes from ${number(half)}${by ? ` (${by.resampled.map((k) => number(k)).join(" to ")} if units are resampled)` : ""}; without the ${number(Math.min(top, order.length))} largest it is ${number(without(top))}.`, "answer"),
                ...(by ? [paragraph(`Noise alone makes few units look large: if all observations contributed the same, half would come from ${by.alike.map((k) => number(k)).join(" to ")} of them. With each unit's mean shrunk by its noise, half comes from ${number(by.shrunk)}.`)] : []),
                paragraph(`Log-likelihood ${likelihood}.${crossed ? "" : " It is a sum over words; the ranking may use another likelihood."}`, "note"));
            const every = Math.ceil(order.length / 1000), curve = [{ x: 0, y: 0 }, ...Array.from(cumulated, (y, k) => ({ x: k + 1, y })).filter((_, k) => (k + 1) % every === 0 || k < 100)];
            const alike = by ? [{ x: 0, y: 0 }, ...Array.from(by.curve, (y, k) => ({ x: k + 1, y })).filter((_, k) => (k + 1) % every === 0 || k < 100)] : [];
            await chart(host, "cumulative", { curve, alike, half: [{ x: half, y: total / 2 }] }, { x_title: `Units, largest first (${kind})`, y_title: "Sum (nats)" }, `Cumulated contributions; dashed: half of the total, reached with ${number(half)}.${by ? " Thin: the mean of 99 draws in which all observations contribute the same and differ by noise, normal with the variance within units." : ""}`);
            const largest = order.slice(0, 20).map((unit) => ({ name: units.names[unit] + "", value: units.values[unit] }));
            await chart(host, "bars", { bars: largest.map((entry, k) => ({ ...entry, name: `${k + 1}. ${entry.name}` })) }, { x_title: "Contribution (nats)" }, "The largest contributions, in the total's direction.");
            await table(host, order, [{ title: kind[0].toUpperCase() + kind.slice(1), get: (u) => String(units.names[u]) }, { title: "Contribution (nats)", get: (u) => units.values[u] }, { title: state.unit === "reader" || crossed ? "Observations" : "Words", get: (u) => units.n[u] }], "sources", units.first && ((u) => show(units.first[u])));
        },

        async readers(host) {
            const { response, a, b, quantities: { byId } } = now, readers = response?.crossed?.reader ?? response?.readers;
            if (!readers?.gain[a]) return host.append(paragraph("Readers' gains need fitted regressions of this response with this LM."));
            const [mine, other, slopes] = await Promise.all([readers.gain[a], byId.gain ? readers.gain[b] : null, response.slopes.values[a]].map(unpack));
            const gains = other ? Explorer.minus(mine, other) : mine, gain = (byId.gain ?? byId.gain_a), likelihood = response.crossed?.likelihood ?? response.likelihood;
            // The two fits may order readers differently.
            const at = new Map(response.readers.names.map((name, r) => [name, r])), slope = (r) => slopes?.[at.get(readers.names[r])] ?? NaN;
            const rows = [...readers.names.keys()], title = `Slope of surprisal, ${page.lms[a].label} (${response.slopes.unit})`, ahead = rows.filter((r) => gains[r] > 0).length;
            host.append(paragraph(`${number(ahead)} of ${number(rows.length)} readers gain: ${gain.label}, log-likelihood ${likelihood}.`, "answer"));
            if (slopes && new Set(slopes).size > 1) await chart(host, "readers", { readers: rows.filter((r) => Number.isFinite(slope(r))).map((r) => ({ x: slope(r), y: gains[r], name: readers.names[r] })) }, { x_title: title, y_title: unitOf(gain) }, "A point is a reader. Slopes are the fixed effect plus the reader's conditional mode, which is shrunk towards it.");
            else host.append(paragraph(slopes ? "This design has no slope of surprisal by subject: it is the same for all readers." : "This design has no slope of surprisal.", "note"));
            await table(host, rows, [{ title: "Reader", get: (r) => readers.names[r] }, ...(slopes ? [{ title, get: slope }] : []), { title: unitOf(gain), get: (r) => gains[r] }, { title: "Observations", get: (r) => readers.n[r] }], "readers");
        },

        async lms(host) {
            if (!page.ranking.length) return host.append(paragraph("No ranking: it needs fitted regressions."));
            const rows = page.ranking.filter(({ value }) => value !== null).sort((u, v) => u.response - v.response || v.value - u.value), name = ({ response }) => (response < 0 ? "All responses" : page.responses[response].label);
            const ends = rows.every(({ low }) => low !== null), labels = page.lms.map(({ key, label }) => (page.lms.filter((entry) => entry.label === label).length > 1 ? `${label} [${key}]` : label));
            if (!ends) host.append(paragraph("Some intervals are missing: their scores allow none.", "note"));
            const data = rows.map((row) => ({ ...row, low: row.low ?? row.value, high: row.high ?? row.value, name: labels[row.lm], response: name(row) }));
            await chart(host, "ranking", { ranking: data }, { x_title: "ΔLogLik (nats)" }, "ΔLogLik of each LM over its baseline model, with 95 % intervals. Intervals of two LMs may overlap although the LMs differ reliably: the report tests differences.");
            await table(host, [...rows.keys()], [{ title: "LM", get: (r) => labels[rows[r].lm] }, { title: "Response", get: (r) => name(rows[r]) }, { title: "ΔLogLik (nats)", get: (r) => rows[r].value }, { title: "Low", get: (r) => rows[r].low ?? NaN }, { title: "High", get: (r) => rows[r].high ?? NaN }, { title: "Intervals by", get: (r) => rows[r].by || "–" }, { title: "Observations", get: (r) => rows[r].n }], "lms");
        },

        async memory(host) {
            if (!page.memory.length) return host.append(paragraph("No memory was measured: set `measured_memory` in the experiment."));
            const total = page.responses.length > 1 ? -1 : 0, gain = (lm) => page.ranking.find((row) => row.lm === lm && row.response === total) ?? {};
            const rows = page.memory.map((row) => ({ ...row, ...{ y: gain(row.lm).value ?? NaN, y_low: gain(row.lm).low ?? NaN, y_high: gain(row.lm).high ?? NaN }, name: page.lms[row.lm].label })), title = "Half-life (words)";
            const data = rows.map((row, r) => ({ ...row, x: row.half_life, number: String(r + 1) })).filter(({ x, y }) => x > 0 && Number.isFinite(y)).map((row) => ({ ...row, low: row.low > 0 ? row.low : row.x, high: row.high ?? row.x }));
            await chart(host, "memory", { memory: data }, { x_title: `${title}, log scale`, y_title: "ΔLogLik (nats)" }, "A number is an LM of the table; lines are 95 % intervals. LMs without an identified half-life are only in the table.");
            await table(host, [...rows.keys()], [{ title: "Number", get: (r) => r + 1 }, { title: "LM", get: (r) => rows[r].name }, { title, get: (r) => rows[r].half_life ?? NaN }, { title: "Low", get: (r) => rows[r].low ?? NaN }, { title: "High", get: (r) => rows[r].high ?? NaN }, { title: "ΔLogLik (nats)", get: (r) => rows[r].y }], "memory");
        },
    };

    // The text as an image, with every word's box at its position on the screen.
    async function drawn(text, type, title) {
        const NS = "http://www.w3.org/2000/svg", box = text.getBoundingClientRect(), svg = document.createElementNS(NS, "svg");
        const add = (tag, attributes, words = "") => { const element = document.createElementNS(NS, tag); Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value)); element.textContent = words; svg.append(element); };
        Object.entries({ xmlns: NS, width: box.width, height: box.height + 24 }).forEach(([key, value]) => svg.setAttribute(key, value));
        add("rect", { width: "100%", height: "100%", fill: colour("paper") });
        add("text", { x: 4, y: 15, "font-size": 12, "font-family": "sans-serif", fill: colour("ink") }, title);
        for (const word of text.querySelectorAll(".word, h3")) {
            const at = word.getBoundingClientRect(), style = getComputedStyle(word), [x, y] = [at.left - box.left, at.top - box.top + 24];
            if (style.backgroundColor !== "rgba(0, 0, 0, 0)") add("rect", { x, y, width: at.width, height: at.height, fill: style.backgroundColor });
            add("text", { x: x + parseFloat(style.paddingLeft), y: y + at.height * 0.75, "font-size": style.fontSize, "font-family": "sans-serif", fill: style.color }, word.textContent);
        }
        const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
        if (type === "svg") return save(address, "text.svg");
        const image = new Image(), canvas = make("canvas", { width: 2 * box.width, height: 2 * (box.height + 24) });
        image.src = address;
        await image.decode();
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        save(canvas.toDataURL("image/png"), "text.png");
    }

    async function draw() {
        const root = document.documentElement, host = make("div", {}), focused = document.activeElement?.id, reading = document.activeElement?.classList.contains("word"), begun = performance.now();
        root.dataset.theme = theme();
        root.classList.toggle("dark", theme() === "dark");
        $("theme").textContent = theme() === "dark" ? "Light theme" : "Dark theme";
        for (const tab of $("tabs").children) {
            const is = tab.id === `tab-${state.view}`;
            tab.setAttribute("aria-selected", String(is));
            tab.tabIndex = is ? 0 : -1;
        }
        const options = (id) => lists[id].map(({ key, label }) => [key, label]);
        $("choices").replaceChildren(...(page.responses.length ? [choice("response", "Response", options("response"))] : []), ...(page.datasets.length > 1 && page.datasets.length > new Set(page.responses.map(({ dataset }) => dataset)).size ? [choice("data", "Texts", options("data"))] : []),
            ...(page.lms.length ? [choice("a", "LM", options("a")), choice("b", "Compared with", options("b").filter(([key]) => key !== state.a), "no other LM")] : []));
        if (page.lms.length && state.b === state.a) state.b = $("b").value = "";
        const [dataset, a, b] = [place("data"), place("a"), place("b")];
        now = { dataset, a, b, data: page.datasets[dataset], response: page.responses[place("response")], quantities: await Explorer.quantities(page, dataset, place("response"), a, b) };
        $("view").replaceChildren(host);
        $("view").setAttribute("aria-labelledby", `tab-${state.view}`);
        await views[state.view](host);
        cite();
        $("settings").textContent = settings();
        if (document.activeElement === document.body) (reading ? document.querySelector(".word[tabindex='0']") : focused ? $(focused) : null)?.focus();
        root.dataset.drawn = state.view;
        Object.assign(window.explorer, { milliseconds: performance.now() - begun, now });
    }

    // The chosen settings in one line, for the printed page.
    function settings() {
        const inputs = [...document.querySelectorAll("#choices label, .row label")].map((label) => [label.firstChild.textContent, label.lastChild]);
        return inputs.map(([name, input]) => [name, input.selectedOptions?.[0]?.text ?? (input.type === "checkbox" ? (input.checked ? "yes" : "") : input.value)])
            .filter(([, value]) => value).map(([name, value]) => `${name}: ${value}`).join("; ");
    }

    function begin() {
        const text = Uint8Array.from(atob($("datatables").textContent), (letter) => letter.charCodeAt(0));
        tables = import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
        document.title = $("title").textContent = page.title;
        $("tabs").append(...Object.entries(VIEWS).map(([view, label]) => button(label, () => go({ view }), { id: `tab-${view}`, role: "tab", "aria-controls": "view" })));
        $("tabs").onkeydown = ({ key }) => {
            const names = Object.keys(VIEWS), by = { ArrowRight: 1, ArrowLeft: -1 }[key];
            if (by) go({ view: names.at((names.indexOf(state.view) + by) % names.length) }).then(() => $(`tab-${state.view}`).focus());
        };
        $("theme").onclick = () => go({ theme: theme() === "dark" ? "light" : "dark" });
        $("cite").onclick = () => $("cite").setAttribute("aria-expanded", String(!($("citation").hidden = !$("citation").hidden)));
        $("copy").onclick = () => navigator.clipboard.writeText($("command").textContent).then(() => ($("copied").textContent = "Copied"), () => ($("copied").textContent = "Select the command and copy it"));
        $("choices").onsubmit = (event) => event.preventDefault();
        $("missing").hidden = !page.missing.length;
        $("missing").lastElementChild.append(...page.missing.map((text) => make("li", {}, text)));
        addEventListener("hashchange", () => { if (location.hash.slice(1) !== written()) { read(); drawing = drawing.then(draw); } });
        let width = innerWidth;
        addEventListener("resize", () => { if (Math.abs(innerWidth - width) > 40) { width = innerWidth; go({}); } });
        dark.addEventListener("change", () => go({}));
        read();
        window.explorer = { page, state, go, idle: () => drawing, ready: go({}).then(() => (window.explorer.opened = performance.now())) };
    }
    begin();
})();
