import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '../src/h.js';
import { loaded, statusOf } from '../src/pieces.js';
import { stepStatus, whyOf } from '../src/pages/build_side.js';
import { buildView, chosenStep, streamOf, withStep } from '../src/pages/build_view.js';
import { builderView } from '../src/pages/builder.js';
import { homeView } from '../src/pages/home.js';
import { queueView } from '../src/pages/queue.js';
import { slavesView } from '../src/pages/slaves.js';

const NOW = Date.parse('2026-01-02T03:04:05.000Z');
const ago = (seconds) => new Date(NOW - seconds * 1000).toISOString();

const BUILD = {
    id: 12, set: 3, builder: 'sds-build', project: 'sds', branch: 'master', revision: '4f2a9c0d11e8b7a6c5d4e3f2a1b0c9d8e7f60514', state: 'running', result: null,
    attempt: 1, slave: 'linux-01', pool: 'linux', priority: 'normal', reason: 'change 7', author: null, queued_at: ago(60), started_at: ago(30),
    finished_at: null, expected_s: 120, url: '', steps: null,
};
const BUILDER = { name: 'sds-build', project: 'sds', pool: 'linux', priority: 'normal', branches: ['master', 'next'], after: [], kinds: [], max_running: null, expected_s: 120, last: [BUILD] };

const step = (number, state, result, log = null) => ({ number, name: `step ${number}`, kind: 'build', state, result, exit_code: null, reason: null, started_at: state === 'waiting' ? null : ago(20), finished_at: null, log });

// All descriptions with this tag in a view.
function all(view, tag) {
    return [view].flat(Infinity).filter((node) => node && typeof node === 'object').flatMap((node) => [...(node.tag === tag ? [node] : []), ...all(node.children ?? [], tag)]);
}

const text = (view) => [view].flat(Infinity).filter(Boolean).map(textOf).join(' ');

test('the home page: a link to each newest build, its state in words, its progress', () => {
    const view = homeView({ builders: [BUILDER], builds: [BUILD] }, '', null, NOW);
    const cell = all(view, 'a').find((link) => link.attributes.class?.startsWith('cell'));
    assert.equal(cell.attributes.href, '/builds/12');
    assert.match(cell.attributes['aria-label'], /build 12 on master: running/);
    assert.equal(all(cell, 'progress')[0].attributes.value, 0.25);
    assert.match(text(view), /30 s, 1 min 30 s left/);
    assert.match(text(view), /no build/);
    assert.ok(all(view, 'th').every((heading) => heading.attributes.scope));
    assert.match(text(homeView({ builders: [], builds: [] }, '', null, NOW)), /No builder is configured/);
});

test('the step that is shown', () => {
    const log = { bytes: 1, lines: 1 };
    const choose = (steps, number = null) => chosenStep({ steps }, number)?.number;
    assert.equal(choose([step(1, 'finished', 'success', log), step(2, 'running', null), step(3, 'waiting', null)]), 2);
    assert.equal(choose([step(1, 'finished', 'success', log), step(2, 'finished', 'failure', log), step(3, 'finished', 'success', log)]), 2);
    assert.equal(choose([step(1, 'finished', 'success', log), step(2, 'finished', 'success', log), step(3, 'finished', 'skipped')]), 2);
    assert.equal(choose([step(1, 'finished', 'success', log), step(2, 'running', null)], 1), 1);
    assert.equal(choose([step(1, 'waiting', null)]), undefined);
    assert.equal(choose([step(1, 'waiting', null)], 5), undefined);
});

test('steps that change take their place', () => {
    const build = { ...BUILD, steps: [step(1, 'running', null), step(2, 'waiting', null)] };
    assert.equal(withStep(build, step(1, 'finished', 'success')).steps[0].result, 'success');
    assert.deepEqual(withStep(build, step(3, 'waiting', null)).steps.map((s) => s.number), [1, 2, 3]);
    assert.equal(withStep(BUILD, step(1, 'running', null)).steps.length, 1);
});

test('the build page: what can be done depends on its state', () => {
    const actions = {};
    const route = { build: 12, step: null, attempt: null };
    const buttons = (data) => all(buildView({ data }, route, null, actions, NOW), 'button').map(textOf);
    assert.deepEqual(buttons({ ...BUILD, steps: [] }), ['Cancel', 'Rebuild']);
    assert.deepEqual(buttons({ ...BUILD, steps: [], state: 'finished', result: 'failure', finished_at: ago(1) }), ['Rebuild']);
});

test('the build page: reasons, waits and attempts are told', () => {
    const data = {
        ...BUILD, attempt: 2, steps: [{ ...step(1, 'finished', 'failure'), exit_code: 2, reason: 'the command exited with 2' }], waits_for: [10, 11], stands_for: 13,
        attempts: [{ attempt: 1, slave: 'linux-02', result: 'exception', reason: 'the slave was lost' }, { attempt: 2, slave: 'linux-01', result: null, reason: null }],
    };
    const view = buildView({ data }, { build: 12, step: null, attempt: null }, null, {}, NOW);
    for (const words of [/exit code 2/, /the command exited with 2/, /#10, #11/, /#13/, /2 attempts/, /the slave was lost/, /change 7/])
        assert.match(text(view), words);
    assert.ok(all(view, 'a').some((link) => link.attributes.href === '/builds/12/steps/1?attempt=1'));
    assert.match(text(buildView({ data }, { build: 12, step: 9 }, null, {}, NOW)), /no step 9/);
    data.steps[0].reason = 'exit code 2';
    assert.equal(whyOf(data.steps[0]), 'exit code 2', 'told once');
});

test('the build page: the list of steps says why a step failed', () => {
    const limit = { ...step(1, 'finished', 'failure'), exit_code: -1, reason: 'total limit: 2 s' };
    const listed = (build) => text(all(buildView({ data: build }, { build: 12, step: 2 }, null, {}, NOW), 'nav'));
    assert.match(listed({ ...BUILD, steps: [limit, step(2, 'waiting', null)] }), /failuretotal limit: 2 s/);
    assert.match(listed({ ...BUILD, steps: [{ ...limit, exit_code: 3, reason: null }] }), /exit code 3/);
    assert.equal(whyOf(limit), 'total limit: 2 s');
    assert.equal(whyOf(step(1, 'finished', 'success')), '');
});

test('the build page: a failure that only warns looks so once the build is known to have warnings', () => {
    const failed = step(1, 'finished', 'failure');
    assert.deepEqual(stepStatus({ ...BUILD, state: 'finished', result: 'warnings' }, failed), { look: 'warnings', word: 'failure (warns only)' });
    assert.equal(stepStatus(BUILD, failed).word, 'failure');
    assert.equal(stepStatus({ ...BUILD, state: 'finished', result: 'failure' }, failed).look, 'failure');
});

test('the build page: a lost slave is told of', () => {
    const slave = { name: 'linux-01', last_seen_at: ago(90), reason: 'the other side closed the connection' };
    const view = (data, extra) => text(buildView({ data: { ...BUILD, ...data }, extra }, { build: 12, step: null }, null, {}, NOW));
    assert.match(view({ state: 'detached' }, { slave }), /slave linux-01 is out of touch, last seen 1 min ago \(the other side closed the connection\)\..*runs again elsewhere/);
    assert.match(view({ state: 'detached' }, undefined), /slave linux-01 is out of touch\./);
    const attempts = [{ attempt: 1, slave: 'linux-01', result: 'lost', reason: 'detached limit', started_at: ago(90), finished_at: ago(30) }];
    assert.match(view({ state: 'queued', attempts }), /Attempt 1 was lost .*: detached limit\..*1 attempt.*on linux-01, 1 min 00 s/);
    assert.doesNotMatch(view({ attempts: [{ ...attempts[0], result: null }] }), /1 attempt/);
});

test('the build page: standard error of its own', () => {
    const log = { bytes: 1, lines: 1 };
    const [both, outOnly, errOnly] = [{ ...step(1, 'finished', 'success', log), stderr: log }, step(2, 'finished', 'success', log), { ...step(3, 'finished', 'success'), stderr: log }];
    const route = (number, stream = null) => ({ build: 12, step: number, attempt: null, stream });
    assert.deepEqual([streamOf(both, route(1)), streamOf(both, route(1, 'stderr')), streamOf(both, route(2, 'stderr')), streamOf(errOnly, route(3)), streamOf(outOnly, route(2))], ['log', 'stderr', 'log', 'stderr', 'log']);
    const tabs = (to) => all(buildView({ data: { ...BUILD, steps: [both, outOnly, errOnly] } }, to, null, {}, NOW), 'span').filter((span) => span.attributes.class === 'choices').flatMap((span) => all(span, 'a'));
    assert.deepEqual(tabs(route(1)).map((link) => [textOf(link), link.attributes.href, link.attributes['aria-current']]), [['Output', '/builds/12/steps/1', 'page'], ['Standard error', '/builds/12/steps/1?stream=stderr', null]]);
    assert.deepEqual(tabs(route(2)), []);
    assert.deepEqual(tabs(route(3)).map(textOf), ['Standard error']);
});

test('the build page: an earlier attempt has its own steps', () => {
    const data = { ...BUILD, attempt: 2, steps: [step(1, 'running', null), step(2, 'waiting', null)] };
    const old = { attempt: 1, steps: [step(1, 'finished', 'success'), step(2, 'waiting', null)] };
    const view = (route) => buildView({ data, old }, { build: 12, ...route }, null, {}, NOW);
    assert.deepEqual(all(all(view({ step: 2, attempt: 1 }), 'nav'), 'a').map((link) => link.attributes.href), ['/builds/12/steps/1?attempt=1', '/builds/12/steps/2?attempt=1']);
    assert.match(text(view({ step: 2, attempt: 1 })), /in attempt 1.*This step has not run/);
    assert.match(text(view({ step: 9, attempt: 1 })), /Nothing is known of step 9 in attempt 1/);
    assert.match(text(view({ step: 2, attempt: null })), /This step has not started/);
});

test('the build page: its change, and the builds asked for together with it', () => {
    const others = [{ ...BUILD, id: 14, builder: 'sds-bench', state: 'waiting' }, BUILD, { ...BUILD, id: 13, builder: 'sds-docs' }];
    const extra = { set: { builds: others }, change: { author: 'Rosa', comment: 'Count in one pass' } };
    const view = buildView({ data: { ...BUILD, rebuild_of: 9 }, extra }, { build: 12, step: null }, null, {}, NOW);
    for (const words of [/Rosa/, /Count in one pass/, /Rebuild of#9/, /sds-docs #13.*sds-bench #14.*waiting/])
        assert.match(text(view), words);
    const hrefs = all(view, 'a').map((link) => link.attributes.href);
    assert.ok(hrefs.includes('/builds/14') && hrefs.includes('/slaves#linux-01'));
    assert.ok(all(view, 'time').every((time) => /UTC$/.test(time.attributes.title)));
});

test('the build page: benchmark points of the shown step stand over its log, others below', () => {
    const points = [1, 2, 3].map((iteration) => ({ step: 2, suite: 'sds', test: 'parse', metric: 'wall', unit: 's', better: 'lower', iteration, value: iteration / 100 }));
    const view = (number) => text(buildView({ data: { ...BUILD, steps: [step(1, 'finished', 'success'), step(2, 'finished', 'success')] }, extra: { points } }, { build: 12, step: number }, null, {}, NOW));
    assert.match(view(2), /parsewall time20.00 ms10.00, 20.00, 30.00 ms.*wrote nothing/);
    assert.match(view(1), /wrote nothing.*Benchmark points of step 2.*20.00 ms/);
});

test('the builder page', () => {
    const builder = { ...BUILDER, steps: [{ name: 'compile', kind: 'build' }] };
    const view = builderView({ builder, builds: [BUILD], next: 11 }, { name: 'sds-build', branch: null }, {}, NOW);
    for (const words of [/compile/, /Usually takes/, /Show older/, /all branches/])
        assert.match(text(view), words);
    const branch = all(view, 'input').find((input) => input.attributes.name === 'branch');
    assert.equal(branch.attributes.value, 'master');
    assert.deepEqual(all(view, 'option').map((option) => option.attributes.value), ['master', 'next', 'high', 'normal', 'low']);
    assert.equal(all(view, 'datalist')[0].attributes.id, branch.attributes.list);
});

test('the slaves page', () => {
    const slave = { name: 'linux-01', state: 'busy', pools: ['linux'], labels: [], slots: 2, running: 1, version: '1', platform: { os: 'linux', cores: 8 }, connected_at: ago(60), last_seen_at: ago(1), reason: null, builds: [12] };
    const view = slavesView([slave, { ...slave, name: 'b', state: 'draining', reason: 'new disk', builds: [] }], 'b', {}, NOW);
    assert.deepEqual(all(view, 'tr').filter((row) => row.attributes['aria-current']).map((row) => row.attributes.id), ['slave-b']);
    assert.deepEqual(all(view, 'button').map((button) => button.attributes['aria-label']), ['Drain linux-01', 'Resume b']);
    for (const words of [/1 of 2/, /#12/, /linux 8/, /new disk/])
        assert.match(text(view), words);
});

test('the queue page: why each build waits', () => {
    const entry = { build: 12, builder: 'sds-build', branch: 'master', pool: 'linux', priority: 'high', position: 1, waits_for: '1st in pool linux, 2 slots of 2 busy', starts_at: null };
    const pool = { name: 'linux', queued: 1, running: 2, slots: 2, slaves: 1, paused: true, backlog: null };
    const view = queueView({ queue: [entry], next: null, pools: [pool], running: [BUILD] }, {}, NOW);
    for (const words of [/2 slots of 2 busy/, /not known/, /paused/, /on linux-01/])
        assert.match(text(view), words);
    assert.deepEqual(all(view, 'button').map((button) => button.attributes['aria-label']), ['Resume pool linux', 'Cancel build 12']);
});

test('an error is shown, and does not take away what was read before', () => {
    const error = new Error('there is no build 12');
    assert.match(text(loaded({ data: null, error }, () => 'x')), /there is no build 12/);
    assert.match(text(loaded({ data: 'old', error }, (data) => data)), /there is no build 12 old/);
    assert.match(text(loaded({ data: null, error: null }, () => 'x')), /Loading/);
});

test('one word for how a thing stands', () => {
    assert.equal(statusOf({ state: 'running', result: null }), 'running');
    assert.equal(statusOf({ state: 'finished', result: 'warnings' }), 'warnings');
});
