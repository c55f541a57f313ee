import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readExtras } from '../src/pages/build_extras.js';

const BUILD = { id: 12, set: 3, project: 'a&b', branch: 'main', state: 'running', slave: 'linux-01', steps: [{ number: 1, kind: 'benchmark' }] };

// An API that answers these paths, and 404 to others.
function apiOf(answers) {
    const asked = [];
    const get = async (path) => {
        asked.push(path);
        if (!(path in answers))
            throw new Error(`404 ${path}`);
        return answers[path];
    };
    return { get, asked };
}

test('set, change and all points are read', async () => {
    const api = apiOf({
        '/sets/3': { id: 3, builds: [] },
        '/changes?project=a%26b&branch=main&limit=20': { changes: [{ id: 9, set: 4 }, { id: 8, set: 3 }] },
        '/builds/12/points?attempt=2&limit=1000': { points: [1, 2], next: 7 },
        '/builds/12/points?attempt=2&limit=1000&before=7': { points: [3], next: null },
    });
    const extra = await readExtras(api, BUILD, 2);
    assert.deepEqual(extra, { set: { id: 3, builds: [] }, change: { id: 8, set: 3 }, slave: null, points: [1, 2, 3] });
    assert.equal(api.asked.length, 4);
});

test('the slave is read while it is out of touch', async () => {
    const api = apiOf({ '/slaves/linux-01': { name: 'linux-01' } });
    assert.deepEqual((await readExtras(api, { ...BUILD, state: 'detached' }, 1)).slave, { name: 'linux-01' });
});

test('what cannot be read is left out, and what was known is kept', async () => {
    assert.deepEqual(await readExtras(apiOf({}), BUILD, 1), { set: null, change: null, slave: null, points: [] });
    const before = { set: { id: 3 }, change: null, points: [1] };
    const api = apiOf({});
    assert.deepEqual(await readExtras(api, BUILD, 1, before), { ...before, slave: null });
    assert.ok(!api.asked.some((path) => path.startsWith('/changes')), 'a change is looked for once');
});

test('nothing is asked for of a build without set, benchmark or attempt', async () => {
    const api = apiOf({});
    await readExtras(api, { ...BUILD, set: null, steps: null }, 1);
    await readExtras(api, { ...BUILD, set: null, branch: null }, 0);
    assert.deepEqual(api.asked, []);
});
