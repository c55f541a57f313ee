import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_HEIGHT, linesInView, scrollFromTop, scrollGeometry, topFromScroll } from '../src/log_scroll.js';

test('a short log scrolls pixel by pixel', () => {
    const geometry = scrollGeometry({ total: 1000, lineHeight: 20, viewport: 400 });
    assert.equal(geometry.height, 20000);
    assert.equal(geometry.scaled, false);
    assert.equal(topFromScroll(geometry, 30), 1.5);
    assert.equal(scrollFromTop(geometry, 1.5), 30);
    assert.equal(topFromScroll(geometry, 1e9), 980);
    assert.equal(scrollFromTop(geometry, 1e9), 19600);
});

test('a log that fits does not scroll', () => {
    const geometry = scrollGeometry({ total: 3, lineHeight: 20, viewport: 400 });
    assert.equal(topFromScroll(geometry, 0), 0);
    assert.equal(scrollFromTop(geometry, 2), 0);
    assert.deepEqual(linesInView(geometry, 0, 3, 10), [1, 3]);
    assert.deepEqual(linesInView(scrollGeometry({ total: 0, lineHeight: 20, viewport: 400 }), 0, 0, 10), [1, 0]);
});

test('a very long log is scaled, and its ends can be reached', () => {
    const geometry = scrollGeometry({ total: 10_000_000, lineHeight: 20, viewport: 400 });
    assert.equal(geometry.height, MAX_HEIGHT);
    assert.equal(topFromScroll(geometry, 0), 0);
    assert.equal(topFromScroll(geometry, MAX_HEIGHT - 400), 10_000_000 - 20);
    for (const top of [0, 1, 4711, 5_000_000.5, 9_999_980])
        assert.ok(Math.abs(topFromScroll(geometry, scrollFromTop(geometry, top)) - top) < 1e-3);
});

test('lines in view, with some to spare', () => {
    const geometry = scrollGeometry({ total: 1000, lineHeight: 20, viewport: 400 });
    assert.deepEqual(linesInView(geometry, 0, 1000, 10), [1, 31]);
    assert.deepEqual(linesInView(geometry, 100.5, 1000, 10), [91, 131]);
    assert.deepEqual(linesInView(geometry, 980, 1000, 10), [971, 1000]);
});
