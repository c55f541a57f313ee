import assert from 'node:assert/strict';
import { test } from 'node:test';
import { absolute, bytes, count, duration, progress, relative, revision, secondsBetween } from '../src/format.js';

test('durations', () => {
    const cases = [[0, '0.0 s'], [0.25, '0.3 s'], [9.94, '9.9 s'], [9.96, '10 s'], [59.6, '1 min 00 s'], [61, '1 min 01 s'], [3599.4, '59 min 59 s'], [3600, '1 h 00 min'], [90061, '1 d 1 h'], [-3, '0.0 s'], [null, '']];
    for (const [seconds, text] of cases)
        assert.equal(duration(seconds), text);
});

test('times before and after now', () => {
    const now = Date.parse('2026-01-02T03:04:05.000Z');
    const at = (seconds) => relative(new Date(now + seconds * 1000).toISOString(), now);
    assert.deepEqual([-1, -30, -119, -7200, -200000, 90].map(at), ['just now', '30 s ago', '1 min ago', '2 h ago', '2 d ago', 'in 1 min']);
    assert.equal(relative(null, now), '');
    assert.equal(absolute('2026-01-02T03:04:05.678Z'), '2026-01-02 03:04:05 UTC');
    assert.equal(absolute(null), '');
    assert.equal(secondsBetween('2026-01-02T03:04:05.000Z', '2026-01-02T03:04:07.500Z'), 2.5);
    assert.equal(secondsBetween(null, '2026-01-02T03:04:07.500Z'), null);
});

test('sizes and counts', () => {
    assert.deepEqual([0, 1, 999, 1000, 12345, 20_000_000, 5e12].map(bytes), ['0 bytes', '1 byte', '999 bytes', '1.0 KB', '12 KB', '20 MB', '5.0 TB']);
    assert.equal(count(1, 'slave'), '1 slave');
    assert.equal(count(1234567, 'line'), '1,234,567 lines');
});

test('revisions are cut only when they are hashes', () => {
    assert.equal(revision('4f2a9c0d11e8b7a6c5d4e3f2a1b0c9d8e7f60514'), '4f2a9c0d11');
    assert.equal(revision('release-1.2.3-candidate-4'), 'release-1.2.3-candidate-4');
    assert.equal(revision(null), '');
});

test('progress of a running build', () => {
    const started_at = '2026-01-02T03:04:05.000Z';
    const at = (seconds, expected_s) => progress({ started_at, expected_s }, Date.parse(started_at) + seconds * 1000);
    assert.deepEqual(at(30, 120), { fraction: 0.25, text: '30 s, 1 min 30 s left' });
    assert.deepEqual(at(150, 120), { fraction: 0.99, text: '2 min 30 s, 30 s over' });
    assert.deepEqual(at(30, null), { fraction: null, text: '30 s' });
});
