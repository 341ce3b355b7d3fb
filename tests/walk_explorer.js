// Opens explorer pages as a reader does and looks at what shows. `pages` are {name, width, height, text,
// steps}, steps what explorer.go() is given one after another; what was seen of each is left as JSON in
// <pre id="shown">, and sent to `report` where there is one.
(async () => {
    const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
    async function until(is) {
        for (let tries = 0; !is() && tries < 2000; tries++) await wait(5);
        if (!is()) throw new Error(`waited in vain for ${is}`);
    }
    function look(page, window) {
        const all = (what, of = page) => [...of.querySelectorAll(what)], root = page.documentElement;
        return {
            text: page.getElementById("view").innerText,
            rows: all("table.dataTable tbody tr").map((row) => [...row.cells].map((cell) => cell.innerText)),
            heads: all("table.dataTable thead th").map((cell) => cell.innerText.trim()),
            words: all(".word").map((word) => [word.innerText, word.className, word.style.background, word.getAttribute("aria-current")]),
            details: all("#details tr").map((row) => [...row.cells].map((cell) => cell.innerText)),
            titles: all("#view svg text").map((text) => text.textContent),
            charts: all("#view canvas, #view svg.marks").length,
            selected: all("[role=tab][aria-selected=true]").map((tab) => tab.innerText),
            first: page.querySelector(".word")?.getBoundingClientRect().top,
            wide: root.scrollWidth - root.clientWidth,
            unlabelled: all("input, select, button").filter((each) => !(each.labels?.length || each.innerText.trim() || each.getAttribute("aria-label"))).length,
            command: page.getElementById("command").textContent,
            message: page.getElementById("message").textContent,
            missing: page.getElementById("missing").innerText,
            settings: page.getElementById("settings").offsetHeight ? page.getElementById("settings").innerText : "",
            title: page.title,
            theme: root.dataset.theme,
            hash: window.location.hash,
            milliseconds: window.explorer.milliseconds,
        };
    }
    async function walk({ name, width, height, text, steps }) {
        const frame = document.createElement("iframe");
        [frame.width, frame.height, frame.style.border] = [width, height, "0"];
        const begun = performance.now();
        frame.srcdoc = text;
        document.body.append(frame);
        await until(() => frame.contentWindow.explorer?.ready);
        const window = frame.contentWindow, page = frame.contentDocument, seen = [];
        await window.explorer.ready;
        const opened = performance.now() - begun;
        for (const step of [{}, ...steps]) {
            const start = performance.now();
            if (step.press) page.querySelector(step.press).click();
            else if (step.key) page.activeElement.dispatchEvent(new window.KeyboardEvent("keydown", { key: step.key, bubbles: true }));
            else await window.explorer.go(step);
            await window.explorer.idle();
            await wait(0);
            const drawn = performance.now() - start;
            const table = page.querySelector("table.dataTable, table.display");
            if (table) await until(() => page.querySelector("table.dataTable tbody tr") );
            if (page.getElementById("details")) await wait(30);
            seen.push({ step, drawn, ...look(page, window) });
        }
        const other = page.querySelectorAll("#view script, iframe, object, embed, link, base, img, [onerror], [onload]").length;
        frame.remove();
        return { name, opened, seen, other, hostile: "hostile" in window || page.title === "hostile" };
    }
    const shown = [];
    try {
        for (const page of pages) shown.push(await walk(page));
    } catch (error) {
        shown.push({ error: `${error} ${error.stack}` });
    }
    if (typeof report === "string") await fetch(report, { method: "POST", mode: "no-cors", body: JSON.stringify(shown) });
    const result = document.createElement("pre");
    result.id = "shown";
    result.textContent = JSON.stringify(shown);
    document.body.replaceChildren(result);
})();
