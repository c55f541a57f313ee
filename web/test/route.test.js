import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPath, builderPath, parseLine, parseRoute, slavePath, stepPath } from '../src/route.js';

test('every page has its address', () => {
    assert.deepEqual(parseRoute('/'), { page: 'home' });
    assert.deepEqual(parseRoute('/queue'), { page: 'queue' });
    assert.deepEqual(parseRoute('/slaves'), { page: 'slaves', name: null });
    assert.deepEqual(parseRoute('/builders/sds-build'), { page: 'builder', name: 'sds-build', branch: null });
    assert.deepEqual(parseRoute('/builds/12'), { page: 'build', build: 12, step: null, attempt: null, stream: null, line: null });
    assert.deepEqual(parseRoute('/builds/12/steps/3#L4711'), { page: 'build', build: 12, step: 3, attempt: null, stream: null, line: 4711 });
    assert.deepEqual(parseRoute('/builds/12/steps/3?attempt=2'), { page: 'build', build: 12, step: 3, attempt: 2, stream: null, line: null });
    assert.equal(parseRoute('/builds/12/steps/3?stream=stderr').stream, 'stderr');
    assert.equal(parseRoute('/builds/12/steps/3?stream=other').stream, null);
});

test('what is no address of ours', () => {
    for (const path of ['/builds', '/builds/x', '/builds/0', '/builds/1/steps', '/builds/1/steps/x', '/queue/x', '/nothing', '/builders', '/builders/a/b', '/builds/1e3'])
        assert.equal(parseRoute(path).page, 'missing', path);
});

test('addresses that are given out come back as they were', () => {
    assert.equal(parseRoute(buildPath(12)).build, 12);
    const name = 'ünï/release 1.2?#%';
    const route = parseRoute(builderPath(name, 'feature/a&b'));
    assert.equal(route.name, name);
    assert.equal(route.branch, 'feature/a&b');
    assert.deepEqual(parseRoute(stepPath(7, 2, { attempt: 3, line: 9 })), { page: 'build', build: 7, step: 2, attempt: 3, stream: null, line: 9 });
    assert.deepEqual(parseRoute(stepPath(7, 2, { attempt: 3, stream: 'stderr', line: 9 })), { page: 'build', build: 7, step: 2, attempt: 3, stream: 'stderr', line: 9 });
    assert.equal(parseRoute(slavePath(name)).name, name);
});

test('a badly encoded name is taken as it is', () => {
    assert.equal(parseRoute('/builders/%zz').name, '%zz');
});

test('line fragments', () => {
    assert.equal(parseLine('#L1'), 1);
    for (const hash of ['', '#L0', '#L', '#Lx', '#L-1', '#L1.5', '#l1', '#L1x'])
        assert.equal(parseLine(hash), null, hash);
});
