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

    // Texts that are hard to read on what is behind them, by WCAG's contrast of large and small print.
    function faint(page, theme) {
        page.documentElement.dataset.theme = theme;
        const view = page.defaultView, parts = (colour) => colour.match(/[\d.]+/g).map(Number);
        const light = (colour) => {
            const [r, g, b] = parts(colour).map((v) => (v / 255 <= 0.04045 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const behind = (element) => {
            for (let each = element; each; each = each.parentElement) {
                const colour = view.getComputedStyle(each).backgroundColor;
                if (parts(colour)[3] !== 0) return colour;
            }
            return "rgb(255, 255, 255)";
        };
        const texts = [...page.body.querySelectorAll("*")].filter((each) =>
            [...each.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim()),
        );
        return texts.filter((each) => !each.closest("svg, style")).flatMap((each) => {
            const [a, b] = [light(view.getComputedStyle(each).color), light(behind(each))];
            const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            return contrast < 4.5 ? [`${theme}, ${contrast.toFixed(1)}: ${each.textContent.slice(0, 40)}`] : [];
        });
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
            faint: ["dark", "light"].flatMap((theme) => faint(page, theme)),
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
