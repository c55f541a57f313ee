import assert from 'node:assert/strict';
import { test } from 'node:test';
import { median, number, seriesOf, sizeFor } from '../src/points.js';

const point = (metric, unit, iteration, value, more = {}) => ({ step: 3, suite: 'bench', test: 'parse', metric, unit, better: 'lower', iteration, value, ...more });

test('points of one metric make a row, in the order of the iterations and in one unit', () => {
    const rows = seriesOf([point('wall', 's', 2, 0.25), point('max_rss', 'bytes', 1, 3 * 1024 * 1024), point('wall', 's', 1, 0.5), point('wall', 's', 3, 1.5), point('wall', 's', 1, 2, { test: 'print' })]);
    assert.deepEqual(rows.map((row) => [row.test, row.metric, row.values, row.middle, row.unit]), [
        ['parse', 'wall time', [500, 250, 1500], 500, 'ms'],
        ['parse', 'peak memory', [3], 3, 'MiB'],
        ['print', 'wall time', [2], 2, 's'],
    ]);
});

test('tests of the same name in two steps or suites stay apart', () => {
    assert.equal(seriesOf([point('wall', 's', 1, 1), point('wall', 's', 1, 1, { step: 4 }), point('wall', 's', 1, 1, { suite: 'other' })]).length, 3);
    assert.deepEqual(seriesOf([]), []);
});

test('the median', () => {
    assert.equal(median([10, 9, 100]), 10);
    assert.equal(median([4, 1, 3, 2]), 2.5);
});

test('units that people read', () => {
    const cases = [['s', 2, 's'], ['s', 0.25, 'ms'], ['s', 2.5e-5, 'µs'], ['s', 1e-12, 'ns'], ['s', 0, 's'], ['bytes', 1023, 'bytes'], ['bytes', 51695616, 'MiB'], ['bytes', 2 ** 31, 'GiB'], ['frames', 1e6, 'frames'], [null, 1, '']];
    for (const [unit, value, name] of cases)
        assert.equal(sizeFor(unit, value)[1], name, `${value} ${unit}`);
});

test('four digits that say something', () => {
    assert.deepEqual([1.8129, 18.129, 1812.9, 0.018129, 0].map((value) => number(value)), ['1.813', '18.13', '1813', '0.01813', '0']);
    assert.deepEqual([number(1.5, 250), number(0.5, 0), number(1e-9)], ['1.5', '0.5', '1.00e-9']);
});
