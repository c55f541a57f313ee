// A table of benchmark points. Pure.

import { h } from '../h.js';
import { table } from '../pieces.js';
import { number, seriesOf } from '../points.js';

const VALUES_SHOWN = 20;

// points: of one step, as the API gives them.
export function pointsTable(points, label) {
    const columns = [['Test'], ['Metric'], ['Median'], ['Each iteration']];
    return table(label, columns, seriesOf(points).map(row), 'There are no points.');
}

function row(series) {
    const { suite, test, metric, better, values, middle, unit } = series;
    const left = values.length - VALUES_SHOWN;
    const written = values.slice(0, VALUES_SHOWN).map((value) => number(value, middle)).join(', ');
    return h('tr', { key: JSON.stringify([suite, test, metric]) },
        h('th', { scope: 'row', class: 'name', title: `suite ${suite}` }, test),
        h('td', { title: better && `${better} is better` }, metric),
        h('td', { class: 'number' }, h('strong', null, number(middle, middle)), ` ${unit}`),
        h('td', { class: 'number words' }, `${written} ${unit}`, left > 0 && ` and ${left} more`));
}
