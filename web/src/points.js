// Benchmark points as people read them. Pure.

// A unit of the API's points in the sizes in which people write it, the smallest first.
const SIZES = {
    s: [[1e-9, 'ns'], [1e-6, 'µs'], [1e-3, 'ms'], [1, 's']],
    bytes: [[1, 'bytes'], [1024, 'KiB'], [1024 ** 2, 'MiB'], [1024 ** 3, 'GiB']],
};

const METRICS = { wall: 'wall time', user: 'user time', system: 'system time', max_rss: 'peak memory' };

// [{step, suite, test, metric, better, values, middle, unit}]: one for each metric of each test, values in the
// order of the iterations, in `unit`.
export function seriesOf(points) {
    const series = new Map();
    for (const point of points) {
        const key = JSON.stringify([point.step, point.suite, point.test, point.metric]);
        if (!series.has(key))
            series.set(key, []);
        series.get(key).push(point);
    }
    return [...series.values()].map((members) => {
        const { step, suite, test, metric, better, unit } = members[0];
        const values = [...members].sort((a, b) => a.iteration - b.iteration).map((point) => point.value);
        const [factor, written] = sizeFor(unit, median(values));
        return { step, suite, test, metric: METRICS[metric] ?? metric, better, values: values.map((value) => value / factor), middle: median(values) / factor, unit: written };
    });
}

export function median(values) {
    const sorted = [...values].sort((a, b) => a - b);
    const half = Math.floor(sorted.length / 2);
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

// The size in which a value of this unit is best written: [how many of the unit it is, its name].
export function sizeFor(unit, value) {
    const sizes = SIZES[unit];
    if (!sizes)
        return [1, unit ?? ''];
    if (value === 0)
        return sizes.find(([factor]) => factor === 1);
    return sizes.findLast(([factor]) => Math.abs(value) >= factor) ?? sizes[0];
}

// A value with the digits after the point that make four of `like`, so that those of a row look alike.
export function number(value, like = value) {
    if (like === 0 || !Number.isFinite(like))
        return String(value);
    const digits = Math.floor(Math.log10(Math.abs(like)));
    return digits < -6 ? value.toExponential(2) : value.toFixed(Math.max(0, 3 - digits));
}
