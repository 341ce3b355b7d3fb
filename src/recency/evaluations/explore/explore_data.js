"use strict";
// The page's columns, quantities and statistics. Nothing here touches an element of the page.
const Explorer = (() => {
    const MISSING = -(2 ** 31), unpackedColumns = new WeakMap();

    // The values of a packed column (recency.evaluations.explore.view_data), NaN where missing.
    async function inflated({ n, step, data }) {
        const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
        const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
        const planes = new Uint8Array(await new Response(stream).arrayBuffer());
        // Division by the inverse of steps below 1 makes 123 hundredths exactly 1.23.
        const values = new Float64Array(n), over = step < 1 ? Math.round(1 / step) : 1;
        if (step === null) {  // the numbers themselves, 64 bits each
            const bits = new DataView(values.buffer);
            for (let i = 0; i < n; i++) {
                for (let k = 0; k < 8; k++) bits.setUint8(8 * i + k, planes[k * n + i]);
                values[i] = bits.getFloat64(8 * i, true);
            }
            return values;
        }
        for (let i = 0; i < n; i++) {
            const whole = planes[i] | (planes[n + i] << 8) | (planes[2 * n + i] << 16) | (planes[3 * n + i] << 24);
            values[i] = whole === MISSING ? NaN : step < 1 ? whole / over : whole * step;
        }
        return values;
    }

    function unpack(column) {
        if (!column) return Promise.resolve(null);
        if (!unpackedColumns.has(column)) unpackedColumns.set(column, inflated(column));
        return unpackedColumns.get(column);
    }

    const minus = (a, b) => a && b && a.map((value, i) => value - b[i]);
    const sum = (values) => values.reduce((total, value) => total + (Number.isNaN(value) ? 0 : value), 0);

    // Every quantity by word of a dataset for two LMs (b: -1 for none) and a response (or none).
    async function quantities(page, dataset, response, a, b) {
        const name = (lm) => page.lms[lm]?.label ?? "";
        const data = page.datasets[dataset], observed = page.responses[response];
        const all = [data.surprisal[a], data.surprisal[b], observed?.mean, observed?.residual, observed?.gain?.[a],
            observed?.gain?.[b], observed?.n, data.frequency?.values, data.length, data.position, data.sentence, data.pos?.codes];
        const [bitsA, bitsB, mean, residual, gainA, gainB, n, frequency, length, position, sentence, pos] =
            await Promise.all(all.map(unpack));
        const byId = {}, unit = observed?.unit, label = observed?.label;
        const add = (id, title, units, values, diverging = false) => {
            if (values) byId[id] = { id, label: title, unit: units, values, diverging };
        };
        add("surprisal_a", `Surprisal, ${name(a)}`, "bits", bitsA);
        add("surprisal_b", `Surprisal, ${name(b)}`, "bits", bitsB);
        add("difference", `Surprisal, ${name(a)} minus ${name(b)}`, "bits", minus(bitsA, bitsB), true);
        add("mean", `Mean over readers, ${label}`, unit, mean);
        add("residual", `Residual of the baseline model, ${label}`, observed?.residual_unit, residual, true);
        add("gain_a", `ΔLogLik, ${name(a)} over the baseline model`, "nats", gainA, true);
        add("gain_b", `ΔLogLik, ${name(b)} over the baseline model`, "nats", gainB, true);
        add("gain", `ΔLogLik, ${name(a)} minus ${name(b)}`, "nats", minus(gainA, gainB), true);
        add("frequency", data.frequency?.label.replace(/ \(.*/, ""), "bits", frequency);
        add("length", "Length", "characters", length);
        add("position", "Position in the sentence", "words", position);
        add("n", `Observations, ${label}`, "", n);
        return { byId, sentence, pos };
    }

    // Sums of contributions by unit: their names, sizes and values; units without values are omitted.
    function sums(keys, values, observations) {
        const places = new Map(), names = [], totals = [], sizes = [], first = [], rows = [];
        values.forEach((value, i) => {
            if (Number.isNaN(value)) return;
            const key = keys(i);
            if (!places.has(key)) {
                places.set(key, names.length);
                names.push(key), totals.push(0), sizes.push(0), first.push(i), rows.push(0);
            }
            totals[places.get(key)] += value;
            sizes[places.get(key)] += 1;
            rows[places.get(key)] += observations[i];
        });
        return { names, values: Float64Array.from(totals), n: sizes, first, rows };
    }

    // Units from the largest contribution in the total's direction on, the cumulated sum, and how
    // many make half of the total; `without(k)` is the total without the first k.
    function shares(values) {
        const total = sum(values), sign = total < 0 ? -1 : 1;
        const order = Array.from(values.keys()).sort((i, j) => sign * (values[j] - values[i]) || i - j);
        const cumulated = new Float64Array(order.length);
        order.reduce((before, unit, k) => (cumulated[k] = before + values[unit]), 0);
        const half = cumulated.findIndex((value) => sign * value >= (sign * total) / 2) + 1;
        return { total, order, cumulated, half, without: (k) => total - (k ? cumulated[Math.min(k, order.length) - 1] : 0) };
    }

    // How many units make half of the total if all observations contribute the same and differ by
    // noise alone (`low` to `high` of 95 % of draws, `mean` curve); among resampled units; and with
    // each unit's mean shrunk towards that of all (a random effect, by moments). `variance` is that
    // of an observation within its unit, `rows` are the units' observations.
    function compared(values, rows, variance, draws = 99) {
        const all = sum(rows), mean = sum(values) / all, n = values.length, curve = new Float64Array(n);
        let state = 20_150_421;
        const uniform = () => { // mulberry32
            let t = (state = (state + 0x6d2b79f5) | 0);
            t = Math.imul(t ^ (t >>> 15), t | 1);
            t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
            return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 2 ** 32;
        };
        const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
        const interval = (counts) => counts.sort((i, j) => i - j) && [counts[Math.floor(0.025 * draws)], counts[Math.ceil(0.975 * draws) - 1]];
        const alike = [], resampled = [];
        for (let draw = 0; draw < draws; draw++) {
            const made = Float64Array.from(values, (_, u) => mean * rows[u] + Math.sqrt(variance * rows[u]) * normal());
            const { cumulated, half } = shares(made);
            alike.push(half), cumulated.forEach((value, k) => (curve[k] += value / draws));
            resampled.push(shares(Float64Array.from(values, () => values[Math.floor(n * uniform())])).half);
        }
        let [between, squares] = [0, 0];
        values.forEach((value, u) => (between += rows[u] * (value / rows[u] - mean) ** 2, squares += rows[u] ** 2));
        between = Math.max(0, (between - (n - 1) * variance) / (all - squares / all));
        const shrunk = Float64Array.from(values, (value, u) => {
            const share = between ? between / (between + variance / rows[u]) : 0;
            return rows[u] * (mean + share * (value / rows[u] - mean));
        });
        return { alike: interval(alike), resampled: interval(resampled), curve, shrunk: shares(shrunk).half };
    }

    // Local linear regression of y on x: tricube weights over the nearest `span` of the points. The
    // band is pointwise, at 95 %, by a variance that holds for unequal residuals (HC0).
    function smooth(x, y, span = 0.3, places = 40) {
        const order = Array.from(x.keys()).filter((i) => Number.isFinite(x[i]) && Number.isFinite(y[i]));
        order.sort((i, j) => x[i] - x[j]);
        const xs = order.map((i) => x[i]), ys = order.map((i) => y[i]), n = xs.length;
        const size = Math.max(10, Math.ceil(span * n)), rows = [];
        if (n < 20 || xs[0] === xs[n - 1]) return rows;
        const weights = new Array(places);
        for (let g = 0, from = 0; g < places; g++) {
            const at = xs[0] + ((xs[n - 1] - xs[0]) * g) / (places - 1);
            while (from + size < n && xs[from + size] - at < at - xs[from]) from++;
            // Slightly beyond the farthest neighbour, so that ties with it count; never 0.
            const reach = Math.max(at - xs[from], xs[from + size - 1] - at) * 1.0001 || 1;
            let start = from, end = from + size;
            while (start > 0 && at - xs[start - 1] < reach) start--;
            while (end < n && xs[end] - at < reach) end++;
            let w0 = 0, w1 = 0, w2 = 0;
            const weight = (i) => (1 - Math.min(1, Math.abs(xs[i] - at) / reach) ** 3) ** 3;
            for (let i = start; i < end; i++) {
                const w = weight(i), d = xs[i] - at;
                w0 += w, w1 += w * d, w2 += w * d * d;
            }
            const determinant = w0 * w2 - w1 * w1;
            const influence = (i) => determinant > 1e-12 * w0 * w2
                ? (weight(i) * (w2 - w1 * (xs[i] - at))) / determinant : weight(i) / w0;
            let middle = 0;
            for (let i = start; i < end; i++) middle += influence(i) * ys[i];
            rows.push({ x: at, middle });
            weights[g] = [start, end, influence];
        }
        const fitted = (value) => {
            const position = Math.min(places - 2, Math.floor(((value - xs[0]) / (xs[n - 1] - xs[0])) * (places - 1)));
            const [left, right] = [rows[position], rows[position + 1]];
            return left.middle + ((right.middle - left.middle) * (value - left.x)) / (right.x - left.x);
        };
        const squares = xs.map((value, i) => (ys[i] - fitted(value)) ** 2);
        rows.forEach((row, g) => {
            const [start, end, influence] = weights[g];
            let variance = 0;
            for (let i = start; i < end; i++) variance += influence(i) ** 2 * squares[i];
            const half = 1.959964 * Math.sqrt(variance);
            Object.assign(row, { low: row.middle - half, high: row.middle + half });
        });
        return rows;
    }

    // Four significant digits; integers whole, with commas.
    function number(value) {
        if (value === null || value === undefined || Number.isNaN(value)) return "–";
        if (Number.isInteger(value)) return value.toLocaleString("en").replace("-", "−");
        const size = Math.abs(value), digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(size || 1))));
        return value.toFixed(digits).replace("-", "−");
    }

    // A CSV cell (RFC 4180).
    const cell = (value) => /[",\n\r]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
    const csv = (rows) => rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";

    // Colours: cividis for one direction; for two, blue over the page's own colour to orange.
    const CIVIDIS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
    const DIVERGING = { light: ["#2166ac", "#92c5de", "#f7f7f7", "#fdb863", "#b35806"], dark: ["#67a9ef", "#2b5d8c", "#2a2d33", "#8a4d0f", "#f5a13d"] };
    const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

    // Colour scale from the 2nd to the 98th percentile, symmetric around 0 if diverging.
    function palette({ values, diverging }, theme) {
        const there = Float64Array.from(values.filter(Number.isFinite)).sort();
        const at = (share) => there[Math.round(share * (there.length - 1))] ?? 0;
        const size = Math.max(Math.abs(at(0.02)), Math.abs(at(0.98))) || 1;
        let [low, high] = diverging ? [-size, size] : [at(0.02), at(0.98)];
        if (low === high) high = low + 1;
        const stops = (diverging ? DIVERGING[theme] : CIVIDIS).map(channels);
        const colour = (value) => {
            const position = Math.min(1, Math.max(0, (value - low) / (high - low))) * (stops.length - 1);
            const left = Math.min(stops.length - 2, Math.floor(position)), share = position - left;
            return stops[left].map((channel, c) => Math.round(channel + share * (stops[left + 1][c] - channel)));
        };
        const ink = ([r, g, b]) => (0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#111111" : "#ffffff");
        return { low, high, colour, ink, css: (value) => `rgb(${colour(value).join(",")})` };
    }

    return { unpack, quantities, sums, shares, compared, smooth, number, csv, palette, minus, sum };
})();
