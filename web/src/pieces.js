// What several pages show: states, times, builds, buttons. Pure descriptions (h.js).

import { absolute, duration, progress, relative, revision, secondsBetween } from './format.js';
import { h } from './h.js';
import { buildPath, builderPath, slavePath } from './route.js';

// A sign for each word, so that colour is never the only difference.
const SIGNS = {
    success: '✓',
    warnings: '!',
    failure: '✗',
    exception: '⚠',
    cancelled: '⊘',
    skipped: '↷',
    running: '▶',
    queued: '≡',
    waiting: '…',
    detached: '?',
    lost: '?',
    offline: '○',
    idle: '●',
    busy: '▶',
    draining: '⇥',
    quarantined: '⊘',
    paused: '‖',
};

// The one word that says how a build or step stands.
export function statusOf({ state, result }) {
    return state === 'finished' ? (result ?? 'finished') : state;
}

export function badge(status, word = status) {
    return h('span', { class: `badge is-${status}` }, sign(status), word);
}

export function sign(status) {
    return h('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[status] ?? '·');
}

export function isOver(thing) {
    return thing.state === 'finished';
}

// '5 min ago', kept current by the ticker.
export function ago(time, nowMs) {
    return time ? h('time', { datetime: time, title: absolute(time), 'data-ago': time }, relative(time, nowMs)) : '–';
}

// How long a build or step took, or takes so far.
export function took(thing, nowMs) {
    if (!thing.started_at)
        return '–';
    if (thing.finished_at)
        return h('span', { title: `${absolute(thing.started_at)} to ${absolute(thing.finished_at)}` }, duration(secondsBetween(thing.started_at, thing.finished_at)));
    const expected = thing.expected_s ?? null;
    const title = `since ${absolute(thing.started_at)}`;
    return h('span', { title, 'data-since': thing.started_at, 'data-expected': expected }, progress(thing, nowMs).text);
}

// A bar for a running build of known expected duration.
export function bar(build, nowMs) {
    if (build.state !== 'running' || !build.expected_s || !build.started_at)
        return null;
    const { fraction } = progress(build, nowMs);
    return h('progress', {
        max: 1,
        value: fraction,
        'data-since': build.started_at,
        'data-expected': build.expected_s,
        'aria-label': 'expected progress',
    });
}

export function buildLink(build, ...content) {
    return h('a', { href: buildPath(build.id) }, content.length ? content : `#${build.id}`);
}

export function builderLink(name) {
    return h('a', { href: builderPath(name) }, name);
}

export function slaveLink(name) {
    return h('a', { href: slavePath(name) }, name);
}

export function button(label, onclick, { kind = '', describe = null } = {}) {
    return h('button', { type: 'button', class: kind, onclick, 'aria-label': describe }, label);
}

// A table that can be scrolled sideways on a narrow screen. columns: [[heading, class], ...]; rows: h('tr') nodes.
export function table(label, columns, rows, empty) {
    if (rows.length === 0)
        return h('p', { class: 'empty' }, empty);
    return h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label },
        h('table', null,
            h('thead', null, h('tr', null, columns.map(([heading, kind]) => h('th', { scope: 'col', class: kind ?? null }, heading)))),
            h('tbody', null, rows)));
}

export function buildsTable(label, builds, nowMs, empty) {
    const columns = [['Build'], ['Result'], ['Builder'], ['Branch'], ['Revision', 'wide'], ['Slave', 'wide'], ['Took'], ['Asked for']];
    return table(label, columns, builds.map((build) => buildRow(build, nowMs)), empty);
}

function buildRow(build, nowMs) {
    return h('tr', { key: build.id },
        h('th', { scope: 'row' }, buildLink(build)),
        h('td', null, badge(statusOf(build)), bar(build, nowMs)),
        h('td', { class: 'name' }, builderLink(build.builder)),
        h('td', { class: 'name' }, build.branch ?? '–'),
        h('td', { class: 'wide' }, h('code', { title: build.revision }, revision(build.revision) || 'tip')),
        h('td', { class: 'wide' }, build.slave ? slaveLink(build.slave) : '–'),
        h('td', { class: 'number' }, took(build, nowMs)),
        h('td', null, ago(build.queued_at, nowMs)));
}

// What a page shows of its data: the error that kept it away, that it is on its way, or the thing itself.
export function loaded(state, view) {
    if (state.data)
        return [state.error && h('p', { class: 'error', role: 'alert' }, state.error.message), view(state.data)];
    if (state.error)
        return h('section', { class: 'error', role: 'alert' }, h('h1', null, 'This cannot be shown'), h('p', null, state.error.message));
    return h('p', { class: 'empty' }, 'Loading…');
}
