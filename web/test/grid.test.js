import assert from 'node:assert/strict';
import { test } from 'node:test';
import { branchesOf, gridOf, withBuild, withListed, withNamed } from '../src/grid.js';

const build = (id, builder, branch, state = 'finished') => ({ id, builder, branch, state });
const builder = (name, project, branches, last) => ({ name, project, branches, last });

const BUILDERS = [
    builder('sds-build', 'sds', ['master', 'release-*'], [build(4, 'sds-build', 'release-1'), build(3, 'sds-build', 'master')]),
    builder('sds-tests', 'sds', ['master', 'next'], []),
    builder('docs', 'handbook', ['main'], [build(1, 'docs', 'main')]),
];

test('one grid for each project, configured branches first, patterns left out', () => {
    const grids = gridOf(BUILDERS);
    assert.deepEqual(grids.map((grid) => [grid.project, grid.branches]), [['sds', ['master', 'next', 'release-1']], ['handbook', ['main']]]);
    assert.deepEqual(grids[0].rows.map((row) => row.cells.map((cell) => cell?.id ?? null)), [[3, null, 4], [null, null, null]]);
});

test('the branches of one builder', () => {
    assert.deepEqual(branchesOf([BUILDERS[0]]), ['master', 'release-1']);
    assert.deepEqual(branchesOf([builder('x', 'sds', null, null)]), []);
});

test('the filter looks at builder and project', () => {
    assert.deepEqual(gridOf(BUILDERS, ' TESTS ').map((grid) => grid.rows.map((row) => row.builder.name)), [['sds-tests']]);
    assert.deepEqual(gridOf(BUILDERS, 'handbook').map((grid) => grid.project), ['handbook']);
    assert.deepEqual(gridOf(BUILDERS, 'nothing'), []);
});

test('a build takes its place only if none newer stands there', () => {
    const at = (builders) => gridOf(builders)[0].rows[0].cells[0];
    assert.equal(at(withBuild(BUILDERS, build(9, 'sds-build', 'master', 'queued'))).id, 9);
    assert.equal(at(withBuild(BUILDERS, build(3, 'sds-build', 'master', 'running'))).state, 'running');
    assert.equal(at(withBuild(BUILDERS, build(2, 'sds-build', 'master'))).id, 3);
    assert.equal(BUILDERS[0].last[1].state, 'finished');
    assert.deepEqual(gridOf(withBuild(BUILDERS, build(9, 'sds-build', 'wire')))[0].branches, ['master', 'next', 'release-1', 'wire']);
});

test('lists keep their order', () => {
    const list = [build(3), build(2), build(1)];
    assert.deepEqual(withListed(list, build(4), 3).map((b) => b.id), [4, 3, 2]);
    assert.deepEqual(withListed(list, { ...build(2), state: 'running' }, 3).map((b) => b.state), ['finished', 'running', 'finished']);
    const slaves = [{ name: 'a', slots: 1 }, { name: 'b', slots: 1 }];
    assert.deepEqual(withNamed(slaves, { name: 'a', state: 'busy' }), [{ name: 'a', slots: 1, state: 'busy' }, { name: 'b', slots: 1 }]);
    assert.equal(withNamed(slaves, { name: 'c' }).length, 3);
});
