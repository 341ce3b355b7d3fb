// Opens a report as a reader does, in frames as wide as screens and as paper, and looks at what shows.
// `reports` is [name, width, height, HTML] of each; what was seen of it is left as JSON in
// <pre id="shown">, all that a browser's --dump-dom then has.
(async () => {
    const box = (element) => {
        const { left, top, right, bottom } = element.getBoundingClientRect();
        return { left, top, right, bottom };
    };

    // Colours that are drawn, on a white page: an image that fails to draw leaves one.
    function colours(image) {
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [300, 200];
        const page = canvas.getContext("2d");
        page.fillStyle = "white";
        page.fillRect(0, 0, 300, 200);
        page.drawImage(image, 0, 0, 300, 200);
        return new Set(new Uint32Array(page.getImageData(0, 0, 300, 200).data.buffer)).size;
    }

    async function walk([name, width, height, text]) {
        const frame = document.createElement("iframe");
        [frame.width, frame.height, frame.style.border] = [width, height, "0"];
        const loaded = new Promise((done) => (frame.onload = done));
        frame.srcdoc = text;
        document.body.append(frame);
        await loaded;
        const page = frame.contentDocument, all = (what, of = page) => [...of.querySelectorAll(what)];
        const images = all("img");
        await Promise.all(images.map((image) => image.decode().catch(() => null)));
        const found = {
            name,
            height,
            wide: page.documentElement.scrollWidth - page.documentElement.clientWidth,
            cut: all("table").flatMap((table) => {
                const held = table.parentElement;
                const over = Math.max(held.scrollWidth, table.offsetWidth) - held.clientWidth;
                return over > 0 ? [`${over} px of ${table.innerText.slice(0, 80)}`] : [];
            }),
            first: Object.fromEntries(
                [["verdict", ".verdict"], ["figure", "#answer img"], ["table", "#answer table"]].map(
                    ([what, where]) => [what, page.querySelector(where) && box(page.querySelector(where))],
                ),
            ),
            letters: Math.min(...all("td, p").map((each) => parseFloat(frame.contentWindow.getComputedStyle(each).fontSize))),
            headings: all("h2, h3").map((each) => each.innerText),
            figures: all(".experiment figure").map((each) => ({
                caption: each.querySelector("figcaption").textContent, // folded or not
                rows: all("tr", each).length,
                width: each.querySelector("img, table").getBoundingClientRect().width,
                colours: all("img", each).map(colours)[0],
            })),
            text: page.body.innerText,
            links: all("a").map((each) => each.getAttribute("href")),
            broken: all("a[href^='#']").filter((each) => !page.querySelector(each.getAttribute("href"))).length,
            other: all("script, iframe, object, embed, link, form, svg, base, [onerror], [onload], [onclick]").length,
            sources: images.map((each) => each.getAttribute("src").slice(0, 15)),
            hostile: [window, frame.contentWindow].some((each) => "hostile" in each),
        };
        frame.remove();
        return found;
    }

    const shown = [];
    try {
        for (const report of reports) shown.push(await walk(report));
    } catch (error) {
        shown.push({ error: `${error} ${error.stack}` });
    }
    const result = document.createElement("pre");
    result.id = "shown";
    result.textContent = JSON.stringify(shown);
    document.head.replaceChildren();
    document.body.replaceChildren(result);
})();
