// Goes through a Snakemake report as a reader does: every category, every entry of it, and its caption.
// What was shown of each is left as JSON in <pre id="shown">, all that a browser's --dump-dom then has.
(async () => {
    const pause = (ms) => new Promise((done) => setTimeout(done, ms));

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

    // A page inside the report cannot be looked into where it is shown, so it is opened once more.
    async function opened(uri) {
        const bytes = Uint8Array.from(atob(uri.split(",")[1]), (letter) => letter.charCodeAt(0));
        const frame = document.createElement("iframe");
        [frame.width, frame.height] = [1000, 800];
        const loaded = new Promise((done) => (frame.onload = done));
        frame.srcdoc = new TextDecoder().decode(bytes);
        document.body.append(frame);
        await loaded;
        const inside = frame.contentDocument;
        const sizes = [...inside.querySelectorAll("body svg")].map((svg) => svg.getBoundingClientRect().width);
        const found = { rows: inside.querySelectorAll("tr").length, figures: sizes, text: inside.body.innerText };
        frame.remove();
        return found;
    }

    const shown = [], menu = { navbarMode: "menu", category: undefined, subcategory: undefined };
    try {
        for (let tries = 0; !app && tries < 200; tries++) await pause(50);
        const names = () => [...document.querySelectorAll("nav ul li a")];
        for (const category of Object.keys(categories)) {
            app.setView(menu);
            await pause(50);
            names().find((link) => link.innerText.trim() === category).click();
            await pause(50);
            const count = document.querySelectorAll("nav tbody tr").length;
            for (let index = 0; index < count; index++) {
                const row = document.querySelectorAll("nav tbody tr")[index];
                const entry = { category, what: row.querySelector("td").innerText.trim() };
                row.querySelectorAll("a")[0].click();
                await pause(50);
                const content = document.querySelector("#app > div > div:last-child");
                const image = content.querySelector("img"), frame = content.querySelector("iframe");
                entry.path = app.state.resultPath;
                entry.kind = image ? "img" : frame ? "iframe" : "nothing";
                const box = (image || frame || content).getBoundingClientRect();
                Object.assign(entry, { width: box.width, height: box.height });
                if (image) {
                    await image.decode();
                    Object.assign(entry, { natural: image.naturalWidth, colours: colours(image) });
                    entry.width = image.getBoundingClientRect().width;
                }
                if (frame) Object.assign(entry, await opened(frame.src));
                document.querySelectorAll("nav tbody tr")[index].querySelectorAll("a")[1].click();
                await pause(50);
                entry.caption = document.querySelector("nav").innerText;
                app.setView({ navbarMode: "subcategory", category, subcategory: Object.keys(categories[category])[0] });
                await pause(50);
                shown.push(entry);
            }
        }
    } catch (error) {
        shown.push({ error: `${error} ${error.stack}` });
    }
    const result = document.createElement("pre");
    result.id = "shown";
    result.textContent = JSON.stringify(shown);
    document.head.replaceChildren();
    document.body.replaceChildren(result);
})();
